// The start of a run may take long: MPI_Init, the journal of an earlier run, a slow file system. Until the
// run's loop handles signals, a stop signal ends the process at once. Nothing is lost: the records of an
// earlier run stay.
#pragma once

#include <string>
#include <thread>

#include "base/signals.h"

namespace wq::run {

class EarlyStop {
  public:
    // Watches from here on, in a thread: to be made after all forks. `signals` outlives it. `last_words` are
    // a line for stderr; empty: none.
    EarlyStop(const Signals& signals, std::string last_words);
    ~EarlyStop() { end(); }
    EarlyStop(const EarlyStop&) = delete;
    EarlyStop& operator=(const EarlyStop&) = delete;

    // From now on signals are the loop's, also one that has just come.
    void end();

  private:
    int over_;  // eventfd; -1: none could be had
    std::thread thread_;
};

}  // namespace wq::run
