// Starting a run may take long: MPI_Init, the journal of an earlier run, a slow file system. Until the run's
// loop handles signals, a stop signal ends the process at once. Nothing is lost, because the records of an
// earlier run stay.
#pragma once

#include <string>
#include <thread>

#include "base/signals.h"
#include "base/wake.h"

namespace wq::manager::run {

class EarlyStop {
  public:
    // Starts watching in a thread, so construct it after all forks. `signals` must outlive it. `last_words`
    // are a line for stderr; empty: none.
    EarlyStop(const Signals& signals, std::string last_words);
    ~EarlyStop() { end(); }
    EarlyStop(const EarlyStop&) = delete;
    EarlyStop& operator=(const EarlyStop&) = delete;

    // From now on the loop handles signals, including one that has just arrived.
    void end();

  private:
    Wake over_;
    std::thread thread_;
};

}  // namespace wq::manager::run
