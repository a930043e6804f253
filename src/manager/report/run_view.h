// What a run looks like from elsewhere: state, progress, rate and time left.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "records/journal/run_status.h"

namespace wq::manager::report {

struct RunView {
    std::string run;                     // what the user named
    records::journal::RunStatus status;  // "running", also if it was killed
    std::optional<Duration> age{};       // of these figures; nothing: they are of now
    bool live = false;                   // as far as is known
    std::optional<Duration> elapsed{};
};

// A directory of a run, by its status. Error bad_input: there is none.
Result<RunView> view_of_directory(const std::string& run_directory);

// Whether the run may still go on: the lock of its directory is held; or, since another host may not see the
// lock, the status is fresh and the process that wrote the status is not known to be gone.
bool may_be_live(const std::string& run_directory, const records::journal::RunStatus& status);

std::string view_text(const RunView& view);  // a line
std::string view_json(const RunView& view);  // an object

}  // namespace wq::manager::report
