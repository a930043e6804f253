// A Background without a thread: the test runs its jobs, one at a time.
#pragma once

#include <deque>
#include <utility>

#include "base/background.h"

namespace wq::testing {

class InlineBackground final : public Background {
  public:
    void post(Job job) override { jobs_.push_back(std::move(job)); }
    int descriptor() const override { return -1; }
    bool finish() override { return false; }

    // Runs one job and its completion. False: there is none.
    bool step() {
        if (jobs_.empty()) return false;
        const Job job = std::move(jobs_.front());
        jobs_.pop_front();
        if (const Then then = job()) then();
        return true;
    }
    void run() {
        while (step()) continue;
    }

  private:
    std::deque<Job> jobs_;
};

}  // namespace wq::testing
