// Compares what a run has committed with its plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "slices_program/options.h"
#include "stats/schema.h"

namespace wq::slices_program {

struct RankTimes {
    std::uint64_t slices = 0;
    std::uint64_t failed = 0;
    std::int64_t all_us = 0;
    std::int64_t longest_us = 0;
    std::string longest;  // name of that slice
};

struct Audit {
    std::uint64_t planned = 0;
    std::uint64_t committed = 0;        // of these, once
    std::uint64_t failed = 0;           // of these
    std::vector<std::string> problems;  // the first ones, each a line
    std::uint64_t more_problems = 0;
    std::map<std::uint32_t, RankTimes> ranks;
    bool complete() const { return committed == planned && failed == 0 && problems.empty(); }
};

// `rows`: of the run's statistics. Throws SetupError as SliceQueue does.
Audit audit(const Options& options, const std::vector<stats::SliceRow>& rows);
std::string text_of(const Audit& audit);
// Reads the file, prints the audit. Returns the exit code.
Result<int> audit_file(Options options);

}  // namespace wq::slices_program
