#include "programs/slices/audit.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>

#include "base/units.h"
#include "records/hdf5/h5_reader.h"

namespace wq::programs::slices {

namespace {

constexpr std::size_t most_problems = 10;

std::string name_of(const records::hdf5::SliceRow& row) {
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
bool is_of(const records::hdf5::SliceRow& row, const Slice& slice, const std::string& prefix) {
    return row.epoch == slice.epoch && row.first == slice.start.value_or(0) &&
           row.end == slice.end.value_or(0) &&
           row.work.view() == records::hdf5::FixedText<64>(slice.work.substr(prefix.size())).view();
}

// One row, and the part of the run that it is of.
struct Done {
    const records::hdf5::SliceRow* row = nullptr;
    std::size_t part = 0;
};

void add_times(Audit& audit, const Done& done) {
    RankTimes& rank = audit.ranks[{done.part, done.row->rank}];
    const std::int64_t took = done.row->committed - done.row->taken;
    ++rank.slices;
    rank.failed += done.row->failed;
    rank.all_us += took;
    if (took < rank.longest_us && !rank.longest.empty()) return;
    rank.longest_us = took;
    rank.longest = name_of(*done.row);
}

// What failed was run again by the next part, so it counts only if nothing else is there, and once.
void drop_failures(std::vector<Done>& all) {
    const auto failed = [](const Done& done) { return done.row->failed != 0; };
    if (std::all_of(all.begin(), all.end(), failed))
        all.erase(all.begin(), all.end() - 1);
    else
        std::erase_if(all, failed);
}

void judge(Audit& audit, const Slice& slice, const std::vector<Done>& all, const std::string& prefix) {
    ++audit.planned;
    if (all.empty()) return add_problem(audit, "not committed: " + where(slice));
    if (all.size() > 1)
        add_problem(audit, "committed " + std::to_string(all.size()) + " times: " + where(slice));
    const records::hdf5::SliceRow& first = *all.front().row;
    if (!is_of(first, slice, prefix))
        return add_problem(audit, name_of(first) + " was committed instead of " + where(slice));
    if (all.size() > 1) return;
    ++audit.committed;
    audit.failed += first.failed;
    if (first.failed != 0) add_problem(audit, "failed: " + where(slice));
    add_times(audit, all.front());
}

struct Part {
    std::uint64_t seed = 0;
    std::vector<records::hdf5::SliceRow> rows;
};

Result<Part> read_part(const std::string& path) {
    const auto file = records::hdf5::StatsReader::open(path);
    if (!file) return file.error();
    const std::string seed = file->attribute("seed");
    Part part;
    const auto [end, problem] = std::from_chars(seed.data(), seed.data() + seed.size(), part.seed);
    if (problem != std::errc() || end != seed.data() + seed.size())
        return Error{ExitCode::bad_input, path + ": no statistics of slices"};
    auto rows = file->slices();
    if (!rows) return rows.error();
    part.rows = std::move(*rows);
    return part;
}

}  // namespace

Audit audit(const Options& options, const std::vector<std::vector<records::hdf5::SliceRow>>& parts) {
    std::map<std::uint64_t, std::vector<Done>> committed;  // by position
    for (std::size_t part = 0; part < parts.size(); ++part)
        for (const records::hdf5::SliceRow& row : parts[part])
            committed[row.position].push_back({&row, part});
    Audit audit;
    audit.parts = parts.size();
    for (const auto& rows : parts) audit.rows += rows.size();
    SliceQueue plan(options.works, options.slices);
    while (const auto slice = plan.take()) {
        plan.commit(*slice);
        auto all = committed.extract(slice->position);
        if (!all.empty()) drop_failures(all.mapped());
        judge(audit, *slice, all.empty() ? std::vector<Done>{} : all.mapped(), options.slices.prefix);
    }
    for (const auto& [position, all] : committed)
        for (const Done& done : all) add_problem(audit, "not in the plan: " + name_of(*done.row));
    return audit;
}

std::string text_of(const Audit& audit) {
    std::string text = std::to_string(audit.committed) + " of " + count_of(audit.planned, "slice") +
                       " committed once, by " + count_of(audit.ranks.size(), "rank") +
                       (audit.parts > 1 ? " of " + std::to_string(audit.parts) + " runs" : "") + "\n";
    char line[256];
    const auto run_column = [&](const std::string& value) {
        std::snprintf(line, sizeof line, "%6s ", value.c_str());
        return audit.parts > 1 ? std::string(line) : std::string();
    };
    if (!audit.ranks.empty()) {
        text += run_column("run");
        std::snprintf(line, sizeof line, "%6s %10s %8s %12s %12s  %s\n", "rank", "slices", "failed", "mean s",
                      "longest s", "its slice");
        text += line;
    }
    for (const auto& [who, times] : audit.ranks) {
        text += run_column(std::to_string(who.first + 1));
        std::snprintf(line, sizeof line, "%6" PRIu32 " %10" PRIu64 " %8" PRIu64 " %12.3f %12.3f  ",
                      who.second, times.slices, times.failed,
                      static_cast<double>(times.all_us) / static_cast<double>(times.slices) / 1e6,
                      static_cast<double>(times.longest_us) / 1e6);
        text += line + times.longest + "\n";
    }
    for (const std::string& problem : audit.problems) text += problem + "\n";
    if (audit.more_problems > 0) text += "and " + std::to_string(audit.more_problems) + " more\n";
    if (audit.rows > 0 && audit.committed == 0)
        text +=
            "no slice fits the plan: give the works and options of the run, too (--prefix, --slices ...)\n";
    return text;
}

Result<int> audit_files(Options options) {
    std::vector<std::vector<records::hdf5::SliceRow>> parts;
    for (const std::string& path : options.audits) {
        auto part = read_part(path);
        if (!part) return part.error();
        if (!options.slices.seed) options.slices.seed = part->seed;
        if (options.audits.size() > 1 && part->seed != *options.slices.seed)
            return Error{ExitCode::bad_input, path + " is of another run: its seed is " +
                                                  std::to_string(part->seed) + ", not " +
                                                  std::to_string(*options.slices.seed)};
        parts.push_back(std::move(part->rows));
    }
    const Audit found = audit(options, parts);
    std::fputs(text_of(found).c_str(), stdout);
    return found.complete() ? 0 : 1;
}

void explain(const Options& options, std::FILE* out) {
    SliceQueue plan(options.works, options.slices);
    std::fprintf(out, "# %s an epoch, %s, %s, seed %" PRIu64 "\n", count_of(plan.size(), "slice").c_str(),
                 count_of(static_cast<std::uint64_t>(options.slices.num_epochs), "epoch").c_str(),
                 options.slices.shuffle ? "shuffled" : "in order", plan.seed());
    std::fputs("# position\tepoch\tslice\n", out);
    while (const auto slice = plan.take()) {
        std::fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%s\n", slice->position, slice->epoch,
                     slice->text().c_str());
        if (std::ferror(out) != 0) return;  // its reader has seen enough
        plan.commit(*slice);
    }
}

}  // namespace wq::programs::slices
