// The thread that keeps a manager's entry in the registry fresh. From its start on only it touches the
// file system, which may be a shared one that is away: nobody waits for it, but its end, and that not for
// long.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/registry.h"
#include "base/time.h"

namespace wq::app {

struct EntryKeeping {
    std::function<void(const Workload&)> write;
    std::function<void()> remove;
    Duration every = std::chrono::seconds(10);
    Duration patience = std::chrono::seconds(3);  // with what hangs at the end
    // Of what hangs at the end: one line.
    std::function<void(const std::string&)> say = [](const std::string&) {};
};

class EntryKeeper : public Registration {
  public:
    explicit EntryKeeper(EntryKeeping keeping);
    ~EntryKeeper() override;
    void tell(const Workload& load) override;

  private:
    struct State;

    std::shared_ptr<State> state_;  // shared with a thread that is let go
    std::thread thread_;
};

}  // namespace wq::app
