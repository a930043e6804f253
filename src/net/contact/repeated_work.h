// A thread that does the newest work it was given, again and again: it keeps something up to date at a place
// that may not answer, such as a shared file system. Others wait for it only at the end, and only briefly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"

namespace wq::net::contact {

struct RepeatedWorkOptions {
    std::optional<Duration> every{};             // the newest work is repeated; nothing: done once
    std::function<void()> last{};                // at the end
    Duration timeout = std::chrono::seconds(3);  // how long to wait for it
    // Gets a line when the work fails, when it succeeds again, and if `last` takes longer than the timeout;
    // called by whoever posts work, calls report_outcome(), or ends the work. failed: makes the line of the
    // reason; the others may be empty.
    std::function<void(const std::string&)> say = [](const std::string&) {};
    std::function<std::string(const std::string& why)> failed = [](const std::string& why) { return why; };
    std::string succeeded_again{};
    std::string not_ended{};
};

class RepeatedWork {
  public:
    using Work = std::function<Status()>;

    explicit RepeatedWork(RepeatedWorkOptions options);
    ~RepeatedWork();
    RepeatedWork(const RepeatedWork&) = delete;

    enum class When : std::uint8_t { at_once, with_next_repetition };
    // Replaces the earlier work, also one that was not done yet.
    void post(Work work, When when);
    void report_outcome();  // by `say`, if it has changed

  private:
    struct State;

    std::shared_ptr<State> state_;  // shared with a detached thread
    std::thread thread_;
};

}  // namespace wq::net::contact
