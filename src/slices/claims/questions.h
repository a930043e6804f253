// What a taker's consumers ask the giver's process, and its answers.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/transport.h"

namespace wq::slices::claims {

class Questions {
  public:
    // `wake` lets the line's thread call flush(); it must not wait.
    explicit Questions(std::function<void()> wake) : wake_(std::move(wake)) {}

    // ---- consumers', of any threads ----

    std::uint64_t ask(std::string what);  // returns the question's number
    // Waits. Each answer is given once. Error unreachable: there is no giver any more, or `until` is over, or
    // this is a child of fork().
    Result<std::string> answer_to(std::uint64_t question, std::optional<Instant> until = {});
    // An answer that nobody waits for.
    void forget(std::uint64_t question);

    // ---- the line's ----

    // Returns whether it was an answer.
    bool on(const net::frames::Arrival& arrival);
    void flush(net::frames::Transport& line, net::frames::PeerId giver);
    void fail(const std::string& why);  // `wake` is not called after it

  private:
    struct Asked {
        bool forgotten = false;
        std::optional<std::string> answer{};
    };
    // A child of fork() has no line, and another thread may have held the mutex.
    bool is_child() const { return ::getpid() != pid_; }

    const pid_t pid_ = ::getpid();
    std::function<void()> wake_;
    std::mutex mutex_;
    std::condition_variable answered_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Asked> asked_;
    std::vector<std::pair<std::uint64_t, std::string>> unsent_;
    std::optional<std::string> failure_;
};

}  // namespace wq::slices::claims
