// A launcher that starts nothing; tests override what they need.
#pragma once

#include <string>
#include <vector>

#include "node/launcher/launcher.h"

namespace wq::testing {

class IdleLauncher : public node::launcher::Launcher {
  public:
    Status open(const node::launcher::LauncherOptions&) override { return success(); }
    Status begin_anew(const node::launcher::LauncherOptions&, Duration) override { return success(); }
    std::string scratch() const override { return {}; }
    int descriptor() const override { return -1; }
    void environment(const node::launcher::EnvironmentLine&) override {}
    void enter(const std::string&) override {}
    void run(node::process::Order) override {}
    void kill(TaskId, Attempt) override {}
    void recall(std::uint64_t) override {}
    void kill_all() override {}
    std::vector<node::launcher::Report> next() override { return {}; }
    Status fork_child(int, void (*)(int)) override { return Error{ExitCode::unreachable, "not here"}; }
    void close(Duration) override {}
};

}  // namespace wq::testing
