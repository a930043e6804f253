#include "shared_list/ssh/remote_helper.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/units.h"
#include "shared_list/ssh/master_helper.h"
#include "shared_list/ssh/ssh_problem.h"
#include "shared_list/store/random_word.h"

namespace wq::shared_list::ssh {

namespace {

constexpr std::chrono::seconds lock_patience{2};
constexpr std::chrono::seconds end_patience{1};
constexpr const char* no_signs = "10";          // seconds until the helper asks again
constexpr std::size_t most_greeting = 1 << 20;  // what a login shell may print
constexpr std::size_t most_errors = 16 << 10;
constexpr std::size_t read_at_once = 64 << 10;

// ssh takes the first value of each option: the user's come first.
std::vector<std::string> ssh_words(const Master& master) {
    std::vector<std::string> words = master.ssh;
    for (const char* const word :
         {"-T", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o",
          "ServerAliveCountMax=3", "-o", "ClearAllForwardings=yes", "--"})
        words.emplace_back(word);
    words.push_back(master.host);
    words.push_back(start_command(master_helper.size()));
    return words;
}

std::string lock_of(const Master& master) {
    return master.host + ":" + master.list + ".lock";
}

}  // namespace

// No newline, no backslash, and no '!', which csh takes for history even in quotes. The helper comes through
// standard input, read byte by byte so that none of the first request is taken.
std::string start_command(std::size_t helper_bytes) {
    return "exec sh -c 's=$(dd bs=1 count=" + std::to_string(helper_bytes) + " 2>/dev/null); eval \"$s\"'";
}

RemoteHelper::RemoteHelper(const Master& master, const store::Say& say, SshProcess process)
    : master_(master), say_(say), process_(std::move(process)), mark_("wq" + store::random_word()) {}

RemoteHelper::~RemoteHelper() {
    end(end_patience);
}

Result<std::unique_ptr<RemoteHelper>> RemoteHelper::start(const Master& master, const store::Say& say,
                                                          Opening opening) {
    auto process = SshProcess::start(ssh_words(master));
    if (!process) return process.error();
    std::unique_ptr<RemoteHelper> helper(new RemoteHelper(master, say, std::move(*process)));
    if (const Status sent = helper->send_helper(opening); !sent) return sent.error();
    return helper;
}

Status RemoteHelper::send_helper(Opening opening) {
    const auto lines = 1 + std::count(master_.list.begin(), master_.list.end(), '\n');
    outgoing_ = std::string(master_helper) + mark_ + " " + std::to_string(lines) +
                (opening == Opening::to_read ? " read\n" : " write\n") + master_.list + "\n";
    auto words = answer();
    if (!words) return words.error();
    return *words == "ready" ? success() : Status(lost());
}

Result<std::string> RemoteHelper::ask(std::string_view request, const Meanwhile& meanwhile) {
    outgoing_.append(request);
    return answer(meanwhile);
}

// The helper waits for the lock; whatever it says next, it has given the signs that it was told of before.
void RemoteHelper::wait_on(const Meanwhile& meanwhile) {
    if (!waiting_since_) waiting_since_ = instant_now();
    signs_sent_ = instant_now();
    outgoing_ += (meanwhile.signs ? meanwhile.signs() : no_signs) + "\n";
}

Result<std::string> RemoteHelper::answer(const Meanwhile& meanwhile) {
    waiting_since_.reset();
    signs_sent_.reset();
    said_waiting_ = false;
    while (true) {
        auto text = whole_line();
        if (!text) return text;
        if (const auto sent = std::exchange(signs_sent_, std::nullopt); sent && meanwhile.signed_at)
            meanwhile.signed_at(*sent);
        if (*text == "waiting") {
            wait_on(meanwhile);
            continue;
        }
        if (*text == "blocked") {
            waiting_since_ = instant_now();
            continue;
        }
        if (said_waiting_ && say_) say_(store::has_lock(lock_of(master_)));
        waiting_since_.reset();
        const bool ends = text->starts_with("bye ");
        if (!ends && !text->starts_with("bad ")) return text;
        // The shell's own words come by another way, perhaps a moment later; the answer does not wait for
        // them.
        drain_errors();
        const Error error = helper_problem(master_.host, master_.list, text->substr(4), errors_);
        if (ends) end(Duration{0});
        return error;
    }
}

Result<std::string> RemoteHelper::line() {
    return whole_line();
}

// Without the mark. Whatever is before the first mark is a login shell's greeting.
Result<std::string> RemoteHelper::whole_line() {
    const std::string begin = mark_ + " ";
    std::size_t at = 0;
    std::size_t end = 0;
    const auto found = [&] {
        at = incoming_.find(begin);
        end = at == std::string::npos ? at : incoming_.find('\n', at);
        return end != std::string::npos || incoming_.size() > most_greeting;
    };
    if (const Status come = until(found); !come) return come.error();
    if (end == std::string::npos || (answered_ && at != 0)) return lost();
    answered_ = true;
    std::string words = incoming_.substr(at + begin.size(), end - at - begin.size());
    incoming_.erase(0, end + 1);
    while (words.ends_with(' ')) words.pop_back();
    return words;
}

Result<std::string> RemoteHelper::bytes(std::size_t count) {
    if (const Status come = until([&] { return incoming_.size() >= count; }); !come) return come.error();
    std::string result = incoming_.substr(0, count);
    incoming_.erase(0, count);
    return result;
}

Status RemoteHelper::until(const std::function<bool()>& enough) {
    Instant limit = instant_now() + master_.silence;
    while (!enough()) {
        if (!process_) return lost();
        if (waiting_since_) say_waiting();
        const bool quiet = waiting_since_ && !said_waiting_;
        const Step done =
            step(waiting_since_ ? (quiet ? *waiting_since_ + lock_patience : Instant::max()) : limit);
        if (done == Step::ended && !enough()) return lost();
        if (done == Step::moved) limit = instant_now() + master_.silence;
        if (done == Step::nothing && !waiting_since_ && instant_now() >= limit) return hangs();
    }
    return success();
}

void RemoteHelper::say_waiting() {
    if (said_waiting_ || instant_now() < *waiting_since_ + lock_patience) return;
    said_waiting_ = true;
    if (say_) say_(store::waits_for_lock(lock_of(master_)));
}

RemoteHelper::Step RemoteHelper::step(Instant limit) {
    const bool sends = sent_ < outgoing_.size() && process_->in() >= 0;
    std::array<pollfd, 3> ends{pollfd{process_->out(), POLLIN, 0}, pollfd{process_->errors(), POLLIN, 0},
                               pollfd{sends ? process_->in() : -1, POLLOUT, 0}};
    int milliseconds = -1;
    if (limit != Instant::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - instant_now()).count();
        milliseconds = static_cast<int>(std::max<std::int64_t>(left, 0));
    }
    if (::poll(ends.data(), ends.size(), milliseconds) <= 0) return Step::nothing;
    if (ends[1].revents != 0 && !receive(process_->errors(), errors_)) process_->close_errors();
    if (ends[2].revents != 0) send();
    if (ends[0].revents != 0 && !receive(process_->out(), incoming_)) return Step::ended;
    return Step::moved;
}

// False: nothing more will come.
bool RemoteHelper::receive(int from, std::string& into) {
    if (from < 0) return false;
    std::array<char, read_at_once> bytes;
    const ssize_t got = ::read(from, bytes.data(), bytes.size());
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    into.append(bytes.data(), static_cast<std::size_t>(got));
    if (&into == &errors_ && errors_.size() > most_errors) errors_.erase(0, errors_.size() - most_errors);
    return true;
}

void RemoteHelper::drain_errors() {
    std::size_t had = 0;
    do had = errors_.size();
    while (receive(process_->errors(), errors_) && errors_.size() != had);
}

void RemoteHelper::send() {
    const ssize_t put =
        ::send(process_->in(), outgoing_.data() + sent_, outgoing_.size() - sent_, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put < 0) {
        // It may have said why before it ended.
        process_->close_in();
        return;
    }
    sent_ += static_cast<std::size_t>(put);
    if (sent_ < outgoing_.size()) return;
    outgoing_.clear();
    sent_ = 0;
}

void RemoteHelper::end(Duration limit) {
    if (!process_) return;
    process_->close_in();
    process_->end(limit);
    process_.reset();
}

Error RemoteHelper::lost() {
    if (!process_) return lost_connection(master_.host, errors_);
    const int code = process_->end(end_patience);
    drain_errors();
    process_.reset();
    return answered_ ? lost_connection(master_.host, errors_) : no_connection(master_.host, errors_, code);
}

Error RemoteHelper::hangs() {
    end(Duration{0});
    return {ExitCode::unreachable, "the master " + master_.host + " has not answered for " +
                                       format_duration(master_.silence) + "; test: ssh " + master_.host +
                                       " true"};
}

}  // namespace wq::shared_list::ssh
