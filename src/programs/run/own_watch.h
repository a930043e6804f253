// A run that shows itself on a full screen: `work_queue_run --watch` starts `work_queue_status --watch` beside it,
// on its terminal. The user may leave the screen; the run goes on.
#pragma once

#include <string>

#include "base/child.h"
#include "base/result.h"

namespace wq::programs::run {

class OwnWatch {
  public:
    // Error: no terminal, or no work_queue_status in the folder of this program.
    Status start(const std::string& run_directory);
    bool has_terminal();  // false: it was not started, or the user has left it
    // Ends it, so that the terminal is as before.
    void end();

  private:
    Child child_;
};

}  // namespace wq::programs::run
