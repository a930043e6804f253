#include "views/stats_attempts.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/model/outcome.h"
#include "records/journal/append_file.h"
#include "views/model/stats_run.h"
#include "views/transactions_reader.h"

namespace wq::views {

namespace fs = std::filesystem;

namespace {

std::string outcome_of(const records::hdf5::TaskRow& row) {
    if (row.ending == engine::model::Ending::exited)
        return row.exit_code == 0 ? std::string(succeeded) : "exit " + std::to_string(row.exit_code);
    if (row.ending == engine::model::Ending::signalled) return "signal " + std::to_string(row.signal);
    std::string name = engine::model::name_of(row.ending);
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

// Times in a damaged file may be any numbers.
constexpr std::int64_t latest = 1LL << 60;
void bound(std::int64_t& time) {
    time = std::clamp<std::int64_t>(time, 0, latest);
}

class AttemptRows {
  public:
    AttemptRows(const WorkerRows& workers, const std::vector<records::hdf5::CategoryRow>& categories,
                const std::vector<records::hdf5::TransferRow>& transfers)
        : workers_(workers) {
        for (records::hdf5::WorkerRow row : workers_.workers()) {
            bound(row.joined), bound(row.left);
            const auto name = row.address.view().empty() ? row.host.view() : row.address.view();
            all_.workers.push_back({std::string(name), row.joined, row.left, 0});
        }
        for (const records::hdf5::CategoryRow& row : categories)
            category_names_[row.category] = row.name.view();
        for (records::hdf5::TransferRow row : transfers) {
            bound(row.time), bound(row.wall);
            transfers_[row.task].push_back(row);
        }
    }

    void add(records::hdf5::TaskRow row) {
        bound(row.submitted), bound(row.dispatched), bound(row.started), bound(row.received);
        const bool has_run =
            row.started > 0 || (row.dispatched > 0 && row.ending != engine::model::Ending::never_ran);
        if (!has_run) {
            if (row.final == records::hdf5::Flag::yes) all_.never_ran += 1;
            return;
        }
        Attempt attempt;
        attempt.task = static_cast<std::uint64_t>(row.task);
        attempt.calls = std::max<std::uint32_t>(row.calls, 1);
        const auto category = category_names_.find(row.category);
        attempt.category =
            categories_.place_of(category == category_names_.end() ? "unknown" : category->second);
        attempt.worker = worker_of(row);
        attempt.outcome = outcomes_.place_of(outcome_of(row));
        const WallMicros earliest = row.dispatched > 0 ? row.dispatched : row.started;
        attempt.waiting = row.submitted > 0 ? row.submitted : earliest;
        // Clocks of hosts differ from the manager's.
        attempt.started =
            std::max(row.started > 0 ? std::min(row.started, row.received) : row.dispatched, earliest);
        const bool is_known = row.started > 0 && attempt.calls == 1 && row.wall >= 0;
        attempt.output =
            is_known ? std::min(attempt.started + std::min(row.wall, latest), row.received) : row.received;
        attempt.ended = attempt.output;
        add_transfers(attempt, row);
        all_.attempts.push_back(attempt);
    }

    Attempts result() {
        finish(all_);
        return std::move(all_);
    }

  private:
    std::uint32_t worker_of(const records::hdf5::TaskRow& row) {
        if (const auto place = workers_.place_of(row.worker, row.received))
            return static_cast<std::uint32_t>(*place);
        if (!unknown_) {
            unknown_ = static_cast<std::uint32_t>(all_.workers.size());
            all_.workers.push_back({"unknown", row.received, row.received, 0});
        }
        return *unknown_;
    }

    void add_transfers(Attempt& attempt, const records::hdf5::TaskRow& row) const {
        WallMicros begin = 0, end = 0;
        if (const auto found = transfers_.find(row.task); found != transfers_.end()) {
            for (const records::hdf5::TransferRow& one : found->second) {
                if (one.worker != row.worker || one.time < attempt.waiting || one.time > row.received)
                    continue;
                const WallMicros from = one.time - one.wall;
                if (one.direction == records::hdf5::Direction::output) {
                    attempt.ended = row.received;
                } else {
                    begin = begin == 0 ? from : std::min(begin, from);
                    end = std::max(end, one.time);
                }
            }
        }
        place_input(attempt, begin, end);
    }

    const WorkerRows& workers_;
    std::unordered_map<std::uint32_t, std::string> category_names_;
    std::unordered_map<std::int64_t, std::vector<records::hdf5::TransferRow>> transfers_;
    Attempts all_;
    Names categories_{all_.categories};
    Names outcomes_{all_.outcomes};
    std::optional<std::uint32_t> unknown_;  // a worker
};

}  // namespace

Result<Attempts> read_stats(const records::hdf5::StatsReader& reader) {
    auto samples = reader.manager();
    if (!samples) return samples.error();
    auto workers = reader.workers();
    if (!workers) return workers.error();
    const auto categories = reader.categories();
    const auto transfers = reader.transfers();
    const WorkerRows worker_rows(std::move(*workers), *samples);
    AttemptRows rows(worker_rows, categories ? *categories : std::vector<records::hdf5::CategoryRow>(),
                     transfers ? *transfers : std::vector<records::hdf5::TransferRow>());
    if (auto read = reader.each_task([&](const records::hdf5::TaskRow& row) { rows.add(row); }); !read)
        return read.error();
    return rows.result();
}

std::string title_of(const records::hdf5::StatsReader& reader, const std::string& path) {
    return model::title_of_list(reader.attribute("list"), path);
}

Result<AttemptsFile> read_source(const std::string& path) {
    std::error_code unknown;
    AttemptsFile source{path, fs::path(path).filename().string(), {}};
    if (fs::is_directory(path, unknown)) {
        source.path = (fs::path(path) / "stats.h5").string();
        const std::string log = (fs::path(path) / "transactions.log").string();
        if (!fs::exists(source.path, unknown) && fs::exists(log, unknown)) source.path = log;
    }
    Result<Attempts> attempts = Attempts{};
    if (records::hdf5::is_hdf5(source.path)) {
        const auto reader = records::hdf5::StatsReader::open(source.path);
        if (!reader) return reader.error();
        source.title = title_of(*reader, source.path);
        attempts = read_stats(*reader);
    } else {
        const auto text = records::journal::MappedFile::open(source.path);
        if (!text) return text.error();
        attempts = read_transactions(text->bytes(), source.path);
    }
    if (!attempts) return attempts.error();
    if (attempts->attempts.empty() && attempts->workers.empty())
        return Error{ExitCode::bad_input, source.path + ": no task has run yet, and no worker has joined"};
    source.attempts = std::move(*attempts);
    return source;
}

}  // namespace wq::views
