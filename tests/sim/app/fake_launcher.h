// A launcher without processes: orders start first come, first served as they fit, past a head that waits
// those that do not delay it, and end when the clock says so.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "host/launcher.h"

namespace wq::sim {

// What a task does: the same in every attempt but for `failures`.
struct FakeTask {
    Duration wall{0};
    std::uint32_t failures = 0;  // attempts that fail before one succeeds
};

class FakeLauncher final : public host::Launcher {
  public:
    // `started` is told of every order as it starts.
    FakeLauncher(core::Resources whole, std::function<FakeTask(TaskId)> tasks,
                 std::function<void(const host::Order&)> started)
        : whole_(whole), tasks_(std::move(tasks)), started_(std::move(started)) {}

    Status open(const host::LauncherOptions&) override { return success(); }
    std::string scratch() const override { return {}; }
    int descriptor() const override { return -1; }
    void environment(const host::EnvironmentLine& line) override { lines_.push_back(line.position); }
    void enter(const std::string&) override {}
    void run(host::Order order) override;
    void kill(TaskId task, Attempt attempt) override;
    void recall(std::uint64_t most) override;
    void kill_all() override;
    std::vector<host::Report> next() override;
    Status begin_anew(const host::LauncherOptions&, Duration) override;
    void close(Duration) override {}

    void set_time(Instant now) { now_ = now; }
    bool busy() const { return !running_.empty(); }
    bool runs(TaskId task) const;
    void leave();  // a `#!` line ends its shell: what has not started comes back
    std::optional<Instant> next_end() const;
    void die(const std::string& why);  // a task has killed it; what ran is lost
    const std::vector<std::uint64_t>& lines() const { return lines_; }

  private:
    struct Running {
        host::Order order;
        Instant ends;
        bool killed = false;
    };
    void start_what_fits();
    void finish(const Running& task);

    core::Resources whole_;
    core::Resources used_;
    std::function<FakeTask(TaskId)> tasks_;
    std::function<void(const host::Order&)> started_;
    Instant now_;
    std::deque<host::Order> queue_;
    std::vector<Running> running_;
    std::vector<host::Report> reports_;
    std::vector<std::uint64_t> lines_;
};

}  // namespace wq::sim
