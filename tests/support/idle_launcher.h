// A launcher that starts nothing: what a test wants of one it overrides.
#pragma once

#include <string>
#include <vector>

#include "host/launcher.h"

namespace wq::testing {

class IdleLauncher : public host::Launcher {
  public:
    Status open(const host::LauncherOptions&) override { return success(); }
    Status begin_anew(const host::LauncherOptions&, Duration) override { return success(); }
    std::string scratch() const override { return {}; }
    int descriptor() const override { return -1; }
    void environment(const host::EnvironmentLine&) override {}
    void enter(const std::string&) override {}
    void run(host::Order) override {}
    void kill(TaskId, Attempt) override {}
    void recall(std::uint64_t) override {}
    void kill_all() override {}
    std::vector<host::Report> next() override { return {}; }
    void close(Duration) override {}
};

}  // namespace wq::testing
