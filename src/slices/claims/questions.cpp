#include "slices/claims/questions.h"

#include "slices/claims/messages.h"

namespace wq::slices::claims {

std::uint64_t Questions::ask(std::string what) {
    if (is_child()) return 0;
    const std::lock_guard lock(mutex_);
    asked_[++last_];
    if (failure_) return last_;  // the line may be gone
    unsent_.emplace_back(last_, std::move(what));
    wake_();
    return last_;
}

Result<std::string> Questions::answer_to(std::uint64_t question, std::optional<Instant> until) {
    if (is_child())
        return Error{ExitCode::unreachable, "a child of fork() cannot ask the process that has the works"};
    std::unique_lock lock(mutex_);
    Asked& asked = asked_.at(question);
    const auto is_over = [&] { return asked.answer || failure_; };
    until ? static_cast<void>(answered_.wait_for(lock, *until - instant_now(), is_over))
          : answered_.wait(lock, is_over);
    if (!asked.answer) return Error{ExitCode::unreachable, failure_.value_or("it does not answer")};
    std::string answer = std::move(*asked.answer);
    asked_.erase(question);
    return answer;
}

void Questions::forget(std::uint64_t question) {
    if (is_child()) return;
    const std::lock_guard lock(mutex_);
    const auto asked = asked_.find(question);
    asked->second.answer ? static_cast<void>(asked_.erase(asked))
                         : static_cast<void>(asked->second.forgotten = true);
}

bool Questions::on(const net::frames::Arrival& arrival) {
    const auto* frame = std::get_if<net::frames::Frame>(&arrival);
    if (frame == nullptr || !is_answer(frame->bytes)) return false;
    auto message = decode(frame->bytes);
    if (!message) return false;
    auto& [question, what] = std::get<GiverAnswer>(*message);
    const std::lock_guard lock(mutex_);
    const auto asked = asked_.find(question);
    if (asked == asked_.end()) return true;
    if (asked->second.forgotten)
        asked_.erase(asked);
    else
        asked->second.answer = std::move(what);
    answered_.notify_all();
    return true;
}

void Questions::flush(net::frames::Transport& line, net::frames::PeerId giver) {
    const std::lock_guard lock(mutex_);
    for (auto& [question, what] : std::exchange(unsent_, {}))
        line.send(giver, encode(Question{question, std::move(what)}));
}

void Questions::fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
    answered_.notify_all();
}

}  // namespace wq::slices::claims
