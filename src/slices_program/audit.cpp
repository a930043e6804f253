#include "slices_program/audit.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "stats/stats_reader.h"

namespace wq::slices_program {

namespace {

constexpr std::size_t most_problems = 10;

std::string name_of(const stats::SliceRow& row) {
    const std::string work(row.work.view());
    return row.end == 0 ? work
                        : work + "?start=" + std::to_string(row.first) + "&end=" + std::to_string(row.end);
}

std::string where(const Slice& slice) {
    return "epoch " + std::to_string(slice.epoch) + ", " + slice.text();
}

void add_problem(Audit& audit, std::string problem) {
    if (audit.problems.size() < most_problems)
        audit.problems.push_back(std::move(problem));
    else
        ++audit.more_problems;
}

// A row holds the beginning of a long name only.
bool is_of(const stats::SliceRow& row, const Slice& slice, const std::string& prefix) {
    return row.epoch == slice.epoch && row.first == slice.start.value_or(0) &&
           row.end == slice.end.value_or(0) &&
           row.work.view() == stats::Text<64>(slice.work.substr(prefix.size())).view();
}

void add_times(Audit& audit, const stats::SliceRow& row) {
    RankTimes& rank = audit.ranks[row.rank];
    const std::int64_t took = row.committed - row.taken;
    ++rank.slices;
    rank.failed += row.failed;
    rank.all_us += took;
    if (took < rank.longest_us && !rank.longest.empty()) return;
    rank.longest_us = took;
    rank.longest = name_of(row);
}

}  // namespace

Audit audit(const Options& options, const std::vector<stats::SliceRow>& rows) {
    std::multimap<std::uint64_t, const stats::SliceRow*> committed;
    for (const stats::SliceRow& row : rows) committed.insert({row.position, &row});
    Audit audit;
    SliceQueue plan(options.works, options.slices);
    while (const auto slice = plan.take()) {
        plan.commit(*slice);
        ++audit.planned;
        const auto [first, end] = committed.equal_range(slice->position);
        const auto times = std::distance(first, end);
        if (times == 0) add_problem(audit, "not committed: " + where(*slice));
        if (times > 1) add_problem(audit, "committed " + std::to_string(times) + " times: " + where(*slice));
        if (times > 0 && !is_of(*first->second, *slice, options.slices.prefix)) {
            add_problem(audit, "in its place is " + name_of(*first->second) + ": " + where(*slice));
        } else if (times == 1) {
            ++audit.committed;
            audit.failed += first->second->failed;
            if (first->second->failed != 0) add_problem(audit, "failed: " + where(*slice));
            add_times(audit, *first->second);
        }
        committed.erase(first, end);
    }
    for (const auto& [position, row] : committed) add_problem(audit, "not in the plan: " + name_of(*row));
    return audit;
}

std::string text_of(const Audit& audit) {
    std::string text = std::to_string(audit.committed) + " of " + count_of(audit.planned, "slice") +
                       " committed once, by " + count_of(audit.ranks.size(), "rank") + "\n";
    char line[256];
    std::snprintf(line, sizeof line, "%6s %10s %8s %12s %12s  %s\n", "rank", "slices", "failed", "mean s",
                  "longest s", "its slice");
    if (!audit.ranks.empty()) text += line;
    for (const auto& [rank, times] : audit.ranks) {
        std::snprintf(line, sizeof line, "%6" PRIu32 " %10" PRIu64 " %8" PRIu64 " %12.3f %12.3f  ", rank,
                      times.slices, times.failed,
                      static_cast<double>(times.all_us) / static_cast<double>(times.slices) / 1e6,
                      static_cast<double>(times.longest_us) / 1e6);
        text += line + times.longest + "\n";
    }
    for (const std::string& problem : audit.problems) text += problem + "\n";
    if (audit.more_problems > 0) text += "and " + std::to_string(audit.more_problems) + " more\n";
    return text;
}

Result<int> audit_file(Options options) {
    const auto file = stats::StatsReader::open(options.audit);
    if (!file) return file.error();
    const std::string seed = file->attribute("seed");
    std::uint64_t known = 0;
    const auto [end, problem] = std::from_chars(seed.data(), seed.data() + seed.size(), known);
    if (problem != std::errc() || end != seed.data() + seed.size())
        return Error{ExitCode::bad_input, options.audit + ": no statistics of slices"};
    if (!options.slices.seed) options.slices.seed = known;
    const auto rows = file->slices();
    if (!rows) return rows.error();
    const Audit found = audit(options, *rows);
    std::fputs(text_of(found).c_str(), stdout);
    return found.complete() ? 0 : 1;
}

}  // namespace wq::slices_program
