// The command line of work_queue_slices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "work_queue/slice_queue.h"

namespace wq::programs::slices {

struct Options {
    enum class Mode { help, version, explain, audit, run };
    Mode mode = Mode::run;
    std::vector<std::string> works;
    SliceOptions slices;
    std::vector<std::string> audits;  // statistics files
    std::string checkpoint;           // saved there, and restored from there if it exists; empty: none
    Duration save_every = std::chrono::seconds(60);  // 0: after each slice of rank 0
    SliceWorkerOptions join;                         // as a worker of another run; its contact is empty: no
    std::int64_t retries = 0;
    std::vector<std::string> command;
};

// Error (usage) in one line; bad_input, unreadable: a list of works.
Result<Options> parse_options(int argc, const char* const* argv);
std::string help();

}  // namespace wq::programs::slices
