// Keeps the answers of a TCP worker that its manager has not acknowledged. After a reconnect they are sent
// again from the position that the manager names. Positions count from the first answer to this manager.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"

namespace wq::worker {

class AnswerLog {
  public:
    using Key = std::pair<TaskId, Attempt>;
    struct Answer {
        std::string message;     // encoded
        std::optional<Key> key;  // none if it is about many tasks
    };

    void add(std::string message, std::optional<Key> key) {
        kept_.push_back({std::move(message), key});
        ++sent_;
    }
    // The manager has received the first `answers` answers.
    void forget(std::uint64_t answers) {
        while (!kept_.empty() && answers > sent_ - kept_.size()) kept_.pop_front();
    }
    std::uint64_t sent() const { return sent_; }
    const std::deque<Answer>& kept() const { return kept_; }

  private:
    std::deque<Answer> kept_;
    std::uint64_t sent_ = 0;
};

}  // namespace wq::worker
