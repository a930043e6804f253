// A launcher without processes: orders start in sequence as they fit, but may overtake a waiting head if they
// do not delay it; they end at their time.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "node/launcher/launcher.h"

namespace wq::sim {

// What a task does, the same in every attempt except for `failures`.
struct FakeTask {
    Duration wall{0};
    std::uint32_t failures = 0;  // attempts that fail before the first success
};

class FakeLauncher final : public node::launcher::Launcher {
  public:
    // `started` is called for every order that starts.
    FakeLauncher(engine::model::Resources whole, std::function<FakeTask(TaskId)> tasks,
                 std::function<void(const node::process::Order&)> started)
        : whole_(whole), tasks_(std::move(tasks)), started_(std::move(started)) {}

    Status open(const node::launcher::LauncherOptions&) override { return success(); }
    std::string scratch() const override { return {}; }
    int descriptor() const override { return -1; }
    void environment(const node::launcher::EnvironmentLine& line) override {
        lines_.push_back(line.position);
    }
    void enter(const std::string&) override {}
    void run(node::process::Order order) override;
    void kill(TaskId task, Attempt attempt) override;
    void recall(std::uint64_t most) override;
    void kill_all() override;
    std::vector<node::launcher::Report> next() override;
    Status begin_anew(const node::launcher::LauncherOptions&, Duration) override;
    Status fork_child(int, void (*)(int)) override { return Error{ExitCode::unreachable, "not here"}; }
    void close(Duration) override {}

    void keep_until(Instant until) override { kept_until_ = until; }
    void set_time(Instant now);
    bool busy() const { return !running_.empty(); }
    bool runs(TaskId task) const;
    void leave();  // a `#!` line ends its shell: orders that have not started are returned
    std::optional<Instant> next_end() const;
    void die(const std::string& why);  // a task has killed it; running tasks are lost
    const std::vector<std::uint64_t>& lines() const { return lines_; }

  private:
    struct Running {
        node::process::Order order;
        Instant ends;
        bool killed = false;
    };
    void start_what_fits();
    void finish(const Running& task);

    engine::model::Resources whole_;
    engine::model::Resources used_;
    std::function<FakeTask(TaskId)> tasks_;
    std::function<void(const node::process::Order&)> started_;
    Instant now_;
    Instant kept_until_ = Instant::max();
    std::deque<node::process::Order> queue_;
    std::vector<Running> running_;
    std::vector<node::launcher::Report> reports_;
    std::vector<std::uint64_t> lines_;
};

}  // namespace wq::sim
