// The thread that keeps a manager's entry in the registry up to date. Once started, only this thread accesses
// the file system, which may be an unavailable shared one: others wait for it only at the end, and only
// briefly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "listening/registry.h"

namespace wq::listening {

struct EntryKeeping {
    std::function<Status(const Workload&)> write;
    std::function<void()> remove;
    Duration every = std::chrono::seconds(10);
    Duration timeout = std::chrono::seconds(3);  // how long to wait at the end if the file system hangs
    // Gets a line once if the entry cannot be written, and one if the file system hangs at the end.
    std::function<void(const std::string&)> say = [](const std::string&) {};
};

class EntryKeeper : public Registration {
  public:
    explicit EntryKeeper(EntryKeeping keeping);
    ~EntryKeeper() override;
    void tell(const Workload& load) override;

  private:
    struct State;

    std::shared_ptr<State> state_;  // shared with a detached thread
    std::thread thread_;
    bool said_ = false;  // that it cannot be written
};

}  // namespace wq::listening
