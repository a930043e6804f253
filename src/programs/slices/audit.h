// Compares what a run has committed with its plan. A run that was stopped and went on from its checkpoint has
// a statistics file of each part, and is judged by all of them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "programs/slices/options.h"
#include "records/hdf5/schema.h"

namespace wq::programs::slices {

struct RankTimes {
    std::uint64_t slices = 0;
    std::uint64_t failed = 0;
    std::int64_t all_us = 0;
    std::int64_t longest_us = 0;
    std::string longest;  // name of that slice
};

struct Audit {
    std::uint64_t rows = 0;
    std::uint64_t planned = 0;
    std::uint64_t committed = 0;        // of these, once
    std::uint64_t failed = 0;           // of these
    std::vector<std::string> problems;  // the first ones, each a line
    std::uint64_t more_problems = 0;
    std::size_t parts = 1;                                             // of the run
    std::map<std::pair<std::size_t, std::uint32_t>, RankTimes> ranks;  // by part and rank
    bool complete() const { return committed == planned && failed == 0 && problems.empty(); }
};

// `parts`: the rows of each part of the run. What failed in one and was done in another one counts as done.
// Throws SetupError as SliceQueue does.
Audit audit(const Options& options, const std::vector<std::vector<records::hdf5::SliceRow>>& parts);
std::string text_of(const Audit& audit);
// Reads the files, prints the audit. Returns the exit code.
Result<int> audit_files(Options options);

// What the options amount to, for readers.

// A line for each slice in the order of their taking: position, epoch and name, separated by tabs.
// Throws SetupError as SliceQueue does.
void explain(const Options& options, std::FILE* out);

}  // namespace wq::programs::slices
