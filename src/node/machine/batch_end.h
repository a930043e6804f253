// When our batch job ends, according to its batch system: a variable, a file, or a command. Pure functions
// parse the text; they never throw.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "node/machine/asked_command.h"

namespace wq::node::machine {

// `scontrol show job ID`: its EndTime, in local time.
std::optional<WallMicros> end_in_scontrol(std::string_view text);

// `qstat -f ID` of PBS and Torque: Resource_List.walltime minus resources_used.walltime, added to `now`.
std::optional<WallMicros> end_in_qstat(std::string_view text, WallMicros now);

// The ads of HTCondor's job and machine: the earliest end that they contain. `now` replaces the job's start
// if they lack it.
std::optional<WallMicros> end_in_condor_ads(std::string_view job, std::string_view machine, WallMicros now);

// "01:30:00", "1:02:03:04", "90": from PBS. nullopt for anything else.
std::optional<std::int64_t> pbs_seconds(std::string_view text);

class BatchEnd {
  public:
    using Variable = std::function<const char*(const char*)>;

    // Reads variables and files; a command is started, but not waited for.
    static BatchEnd ask(const Variable& variable, WallMicros now);

    // The end, if it is known within `limit`: a batch system that does not answer delays nobody.
    std::optional<WallMicros> wait(Duration limit);

  private:
    std::optional<WallMicros> answer(Duration limit);

    std::optional<WallMicros> known_;
    std::optional<WallMicros> otherwise_;  // if the command does not tell
    std::function<std::optional<WallMicros>(std::string_view)> read_;
    AskedCommand command_;
};

}  // namespace wq::node::machine
