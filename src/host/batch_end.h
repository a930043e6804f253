// When the batch job ends that we are in, as its batch system tells: by a variable, a file, or a command that
// is asked. What they say is read by pure functions, which never throw.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "host/asked_command.h"

namespace wq::host {

// `scontrol show job ID`: its EndTime, in local time.
std::optional<WallMicros> end_in_scontrol(std::string_view text);

// `qstat -f ID` of PBS and Torque: what is left of Resource_List.walltime after resources_used.walltime, from
// `now` on.
std::optional<WallMicros> end_in_qstat(std::string_view text, WallMicros now);

// The ads of HTCondor's job and machine: the earliest of the ends that they name. `now` is taken for the
// job's start where they do not tell it.
std::optional<WallMicros> end_in_condor_ads(std::string_view job, std::string_view machine, WallMicros now);

// "01:30:00", "1:02:03:04", "90": of PBS. Nothing for anything else.
std::optional<std::int64_t> pbs_seconds(std::string_view text);

class BatchEnd {
  public:
    using Variable = std::function<const char*(const char*)>;

    // Reads what can be read; where a command has to be asked it is started, and not waited for.
    static BatchEnd ask(const Variable& variable, WallMicros now);

    // The end, if one is known within `limit`: a batch system that does not answer holds nobody up.
    std::optional<WallMicros> wait(Duration limit);

  private:
    std::optional<WallMicros> answer(Duration limit);

    std::optional<WallMicros> known_;
    std::optional<WallMicros> otherwise_;  // where the command does not tell
    std::function<std::optional<WallMicros>(std::string_view)> read_;
    AskedCommand command_;
};

}  // namespace wq::host
