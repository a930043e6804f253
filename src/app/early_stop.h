// Before a run's loop listens to signals, what is begun may take long: MPI_Init, the journal of an earlier
// run, a slow file system. Until then a stop signal ends this process at once, which costs nothing: what an
// earlier run recorded stays.
#pragma once

#include <string>
#include <thread>

#include "app/signals.h"

namespace wq::app {

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

}  // namespace wq::app
