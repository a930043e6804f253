#include "shared_list/ssh/remote_helper.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "shared_list/store/list_place.h"

namespace wq::shared_list::ssh {

namespace {

constexpr std::size_t most_lines = 3;

struct Known {
    std::string_view text;    // of ssh
    std::string_view remedy;  // HOST: the host
    ExitCode code;
};

constexpr std::string_view password_free =
    "log in without a password must work: ssh-copy-id HOST; test: ssh -o BatchMode=yes HOST true";

constexpr std::array known{
    Known{"IDENTIFICATION HAS CHANGED", "if that is right: ssh-keygen -R HOST, then: ssh HOST true",
          ExitCode::not_allowed},
    Known{"Host key verification failed", "accept its key once: ssh HOST true", ExitCode::not_allowed},
    Known{"Permission denied", password_free, ExitCode::not_allowed},
    Known{"Too many authentication failures", password_free, ExitCode::not_allowed},
    Known{"Could not resolve hostname", "check the name; test: ssh HOST true", ExitCode::unreachable},
    Known{"Connection refused", "is sshd running there, on this port? Test: ssh HOST true",
          ExitCode::unreachable},
    Known{"timed out", "check the name and the firewall; test: ssh HOST true", ExitCode::unreachable},
    Known{"No route to host", "check the name and the network; test: ssh HOST true", ExitCode::unreachable},
};

struct HelperWord {
    std::string_view word;
    std::string_view what;  // FILE: the list
    std::string_view remedy;
    ExitCode code;
};

constexpr std::string_view get_permission =
    "get write permission for it and its folder, or use a copy of the list";

constexpr std::array helper_words{
    HelperWord{"directory", "FILE is a directory", "name a file, the list of tasks", ExitCode::bad_input},
    HelperWord{"nolist", "there is no list FILE", "check the name (a worker would make the list)",
               ExitCode::bad_input},
    HelperWord{"unreadable", "cannot read FILE", "get permission to read it", ExitCode::not_allowed},
    HelperWord{"special", "FILE is no regular file", "name a file, the list of tasks", ExitCode::bad_input},
    HelperWord{"missing", "the folder of FILE does not exist", "make it first", ExitCode::bad_input},
    HelperWord{"user", "no such user for FILE", "write ./~NAME if the name begins with '~'",
               ExitCode::bad_input},
    HelperWord{"link", "the symbolic link FILE cannot be followed", "name the file that it leads to",
               ExitCode::bad_input},
    HelperWord{"readonly", "cannot read and write FILE", get_permission, ExitCode::not_allowed},
    HelperWord{"folder", "cannot write in the folder of FILE", get_permission, ExitCode::not_allowed},
    HelperWord{"data", "cannot write in the folder FILE.runtask", get_permission, ExitCode::not_allowed},
    HelperWord{"flock", "the master has no command flock", "install it there (Debian: util-linux)",
               ExitCode::bad_input},
    HelperWord{
        "lock", "cannot lock FILE.lock",
        "get write permission for it; if its file system has no locks, put the list on a local disk of "
        "the master",
        ExitCode::bad_input},
    HelperWord{"write", "cannot write FILE.runtask or FILE",
               "nothing was changed: make room on that disk, or get write permission", ExitCode::bad_input},
    HelperWord{"splice", "awk at the master made a list of a wrong size",
               "nothing was changed: install another awk there (mawk, gawk, BusyBox)", ExitCode::bad_input},
    HelperWord{"sync", "cannot store FILE.runtask on the disk", "check the master's disk",
               ExitCode::unreachable},
    HelperWord{"halfway", "cannot complete a change of FILE",
               "its records are stored: make room on that disk, or get write permission",
               ExitCode::unreachable},
    HelperWord{"look", "cannot inspect FILE", "check `stat` at the master, or what killed it",
               ExitCode::unreachable},
    HelperWord{"unfinished", "cannot complete FILE",
               "all of it is in FILE.runtask/in_place.*: make room on that disk", ExitCode::unreachable},
};

std::string with(std::string_view text, std::string_view word, const std::string& value) {
    std::string result(text);
    for (std::size_t at = 0; (at = result.find(word, at)) != std::string::npos; at += value.size())
        result.replace(at, word.size(), value);
    return result;
}

}  // namespace

std::string end_of_errors(const std::string& errors) {
    std::vector<std::string> lines;
    for (std::string_view rest = errors; !rest.empty();) {
        std::string_view line = next_line(rest);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty() && !line.starts_with("Warning: Permanently added"))
            lines.push_back(line_for_message(line));
    }
    std::string result;
    for (std::size_t i = lines.size() - std::min(lines.size(), most_lines); i < lines.size(); ++i)
        result += (result.empty() ? "" : " / ") + lines[i];
    return result;
}

Error no_connection(const std::string& host, const std::string& errors, int exit_code) {
    std::string text = end_of_errors(errors);
    const std::string what = "cannot reach the master " + line_for_message(host) + ": ";
    for (const Known& one : known)
        if (errors.find(one.text) != std::string::npos)
            return {one.code, what + text + "; " + with(one.remedy, "HOST", host)};
    if (text.empty()) text = "ssh ended with exit code " + std::to_string(exit_code);
    return {ExitCode::unreachable, what + text + "; test: ssh " + host + " true"};
}

Error lost_connection(const std::string& host, const std::string& errors) {
    const std::string text = end_of_errors(errors);
    return {ExitCode::unreachable, "lost the connection to the master " + line_for_message(host) +
                                       (text.empty() ? "" : ": " + text)};
}

Error helper_problem(const std::string& host, const std::string& list, const std::string& why,
                     const std::string& errors) {
    const std::size_t blank = std::min(why.find(' '), why.size());
    std::string said = why.substr(std::min(blank + 1, why.size()));
    if (said.empty()) said = end_of_errors(errors);
    said = said.empty() ? "" : ": " + line_for_message(said);
    const std::string file = line_for_message(host + ":" + list, 400);
    for (const HelperWord& one : helper_words)
        if (why.substr(0, blank) == one.word)
            return {one.code, with(one.what, "FILE", file) + said + "; " + with(one.remedy, "FILE", file)};
    return {ExitCode::internal,
            "the helper at the master failed for " + file + ": " + line_for_message(why) + said};
}

namespace {

// A socket to write to: a write to a process that has ended must not raise SIGPIPE.
Pipe open_socket() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

std::vector<std::string> ssh_command() {
    const char* const told = std::getenv("RUNTASK_SSH");
    std::istringstream text(told == nullptr ? "" : told);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) words.emplace_back("ssh");
    return words;
}

Result<SshProcess> SshProcess::start(const std::vector<std::string>& words) {
    SshProcess process;
    Pipe in = open_socket();
    Pipe out = open_pipe();
    Pipe errors = open_pipe();
    int error = in.valid() && out.valid() && errors.valid() ? 0 : errno;
    for (const Descriptor* ours : {&in.write, &out.read, &errors.read})
        if (error == 0 && !set_nonblocking(*ours)) error = errno;
    if (error == 0) {
        process.child_ = Child(words, {.in = in.read.get(),
                                       .out = out.write.get(),
                                       .err = errors.write.get(),
                                       .group = ChildOptions::Group::session});
        error = process.child_.start_error();
    }
    if (error != 0)
        return Error{ExitCode::unreachable,
                     "cannot start " + words[0] + ": " + std::strerror(error) +
                         (error == ENOENT ? "; install an ssh client, or set RUNTASK_SSH to its path" : "")};
    process.in_ = std::move(in.write);
    process.out_ = std::move(out.read);
    process.errors_ = std::move(errors.read);
    return process;
}

int SshProcess::end(Duration limit) {
    if (!child_.running()) return 0;
    in_.reset();
    if (const auto code = child_.wait_until(instant_now() + limit)) return *code;
    child_.signal(SIGKILL);
    return child_.wait();
}

namespace {

constexpr std::chrono::seconds lock_notice_delay{2};
constexpr std::chrono::seconds end_limit{1};
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
    end(end_limit);
}

Result<std::unique_ptr<RemoteHelper>> RemoteHelper::start(const Master& master, const store::Say& say,
                                                          OpenMode mode) {
    auto process = SshProcess::start(ssh_words(master));
    if (!process) return process.error();
    std::unique_ptr<RemoteHelper> helper(new RemoteHelper(master, say, std::move(*process)));
    if (const Status sent = helper->send_helper(mode); !sent) return sent.error();
    return helper;
}

Status RemoteHelper::send_helper(OpenMode mode) {
    const auto lines = 1 + std::count(master_.list.begin(), master_.list.end(), '\n');
    outgoing_ = std::string(master_helper) + mark_ + " " + std::to_string(lines) +
                (mode == OpenMode::to_read ? " read\n" : " write\n") + master_.list + "\n";
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
    printed_waiting_ = false;
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
        if (printed_waiting_ && say_) say_(store::has_lock(lock_of(master_)));
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
        if (waiting_since_) print_waiting();
        const bool quiet = waiting_since_ && !printed_waiting_;
        const Step done =
            step(waiting_since_ ? (quiet ? *waiting_since_ + lock_notice_delay : Instant::max()) : limit);
        if (done == Step::ended && !enough()) return lost();
        if (done == Step::moved) limit = instant_now() + master_.silence;
        if (done == Step::nothing && !waiting_since_ && instant_now() >= limit) return hangs();
    }
    return success();
}

void RemoteHelper::print_waiting() {
    if (printed_waiting_ || instant_now() < *waiting_since_ + lock_notice_delay) return;
    printed_waiting_ = true;
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
    const int code = process_->end(end_limit);
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
