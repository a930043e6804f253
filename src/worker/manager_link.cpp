#include "worker/manager_link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/descriptor.h"
#include "engine/model/outcome.h"
#include "net/session/session_table.h"

namespace wq::worker {

void ManagerLink::connect(net::frames::Transport& transport, net::frames::PeerId manager) {
    disconnect();
    outbox_.emplace(transport, manager);
    expected_ = true;
}

void ManagerLink::disconnect() {
    outbox_.reset();
    welcomed_ = malformed_ = false;
    refused_.reset();
    dismissed_.reset();
}

void ManagerLink::greet(net::messages::Hello hello, std::vector<Key> held) {
    hello.identity = identity_;
    hello.resume = token_;
    hello.answers_sent = answers_.sent();
    if (over_tcp()) {
        hello.holding = std::move(held);
        for (const AnswerLog::Answer& kept : answers_.kept())
            if (kept.key) hello.holding.push_back(*kept.key);
    }
    send_message(hello);
}

void ManagerLink::send_message(const net::messages::Message& message) {
    if (outbox_) outbox_->add_message(message);
}

void ManagerLink::send_if_welcomed(const net::messages::Message& message) {
    if (!over_tcp() || welcomed_) send_message(message);
}

void ManagerLink::answer(const net::messages::Message& message, std::optional<Key> key) {
    if (!over_tcp()) return send_message(message);
    std::string encoded = net::messages::encode(message);
    if (outbox_ && welcomed_) outbox_->put_encoded(encoded);
    answers_.add(std::move(encoded), key);
}

bool ManagerLink::flush() {
    if (!outbox_ || outbox_->empty()) return false;
    outbox_->flush();
    return true;
}

bool ManagerLink::has_forgotten_us(const net::messages::Welcome& message) {
    if (message.resume == token_) return false;
    forgotten_ = has_manager();
    return forgotten_;
}

void ManagerLink::welcome(const net::messages::Welcome& message) {
    token_ = message.resume;
    expected_ = welcomed_ = true;
    grace_ = message.grace;
}

void ManagerLink::resend_answers(std::uint64_t received) {
    answers_.forget(received);
    for (const AnswerLog::Answer& kept : answers_.kept()) outbox_->put_encoded(kept.message);
}

// The manager forgets the session.
void ManagerLink::send_goodbye(const net::messages::Goodbye& last) {
    send_message(last);
    token_.clear();
}

std::optional<net::messages::LastWords> ManagerLink::last_words() const {
    if (token_.empty() || grace_ <= Duration{0}) return std::nullopt;
    return net::messages::LastWords{net::messages::protocol_version, identity_, token_, false};
}

void ManagerLink::forget_manager() {
    token_.clear();
    // The old manager may still keep a place for us, and would mistake us for a duplicate.
    if (over_tcp()) identity_ = net::session::random_token();
    expected_ = false;
    answers_ = {};
}

namespace {

// A mark is short and in a regular file; anything else at the path is not a mark.
bool is_in(const std::string& path, int flags, const std::string& mark) {
    const Descriptor file(path.empty() ? -1
                                       : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    std::array<char, 64> found;
    const ssize_t size = ::read(file.get(), found.data(), found.size());
    return size > 0 &&
           std::string_view(found.data(), static_cast<std::size_t>(size)).starts_with(mark + "\n");
}

}  // namespace

bool sees_file(const std::string& path, const std::string& mark) {
    return is_in(path, O_NOFOLLOW, mark);
}

// The kernel shows the descriptors of a process as links.
bool sees_memory(const std::string& path, const std::string& mark) {
    return path.starts_with("/proc/") && is_in(path, 0, mark);
}

namespace {

void read_back(node::launcher::TaskEnded& end) {
    const auto read = [&](const std::string& path, std::string& text, const char* stream,
                          std::uint64_t total) {
        if (path.empty()) return;
        std::ifstream file(path, std::ios::binary);
        text.resize(std::min(engine::model::most_output_limit, total));
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(file.gcount()));
        engine::model::cut_at(engine::model::most_output_limit, text, stream, total);
        ::unlink(path.c_str());
    };
    read(end.files[0], end.output.out, "stdout", end.outcome.stdout_bytes);
    read(end.files[1], end.output.err, "stderr", end.outcome.stderr_bytes);
}

}  // namespace

// False: over TCP it may be from a manager that we gave up, and must not be answered.
bool HeldTasks::take(const Key& key) {
    return tasks_.erase(key) > 0 || !link_.over_tcp();
}

void HeldTasks::answer_end(node::launcher::TaskEnded& end) {
    const Key key{end.task, end.attempt};
    read_back(end);
    if (!take(key)) return;
    link_.answer(net::messages::Ended{end.task, end.attempt, std::move(end.outcome), std::move(end.output)},
                 key);
}

void HeldTasks::answer_loss(Key key, const std::string& why) {
    node::launcher::TaskEnded ended{key.first, key.second, {}, {}};
    ended.outcome.ending = engine::model::Ending::worker_lost;
    ended.outcome.reason = why;
    answer_end(ended);
}

void HeldTasks::give_back(Key key) {
    if (take(key)) link_.answer(net::messages::GivenBack{key.first, key.second}, key);
}

std::vector<HeldTasks::Key> HeldTasks::keys() const {
    std::vector<Key> keys;
    for (const auto& [key, by] : tasks_) keys.push_back(key);
    return keys;
}

}  // namespace wq::worker
