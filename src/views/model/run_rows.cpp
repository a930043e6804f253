#include "views/model/run_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>

#include "base/units.h"
#include "views/model/attempt_times.h"

namespace wq::views::model {

using records::hdf5::Direction;
using records::hdf5::Flag;

namespace {

// Within the bounds of Number; what is no number is not recorded.
template <class Number>
Number thousandths_of(double amount) {
    constexpr auto most = static_cast<double>(std::int64_t{1} << 30);
    if (!(amount >= 0)) return static_cast<Number>(not_recorded);
    return static_cast<Number>(std::llround(std::min(amount * 1000, most)));
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
    return std::clamp<std::int64_t>(a, 0, latest_time) + std::clamp<std::int64_t>(b, 0, latest_time);
}

// A damaged file may have any number: sums and differences of two still fit into 64 bits.
constexpr std::int64_t most_amount = std::int64_t{1} << 60;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;
constexpr std::uint64_t most_tasks = std::uint64_t{1} << 40;

std::int64_t amount_of(std::int64_t value) {
    return std::clamp(value, not_recorded, most_amount);
}

std::int64_t bounded(std::int64_t value) {
    return std::clamp(value, -most_amount, most_amount);
}
double bounded(double value) {
    constexpr auto most = static_cast<double>(most_amount);
    return std::isnan(value) ? 0 : std::clamp(value, -most, most);
}

engine::model::ManagerStats stats_of(const records::hdf5::ManagerRow& row) {
    engine::model::ManagerStats stats;
    stats.time_when_started = row.time_when_started;
#define WQ_COPY(type, name, unit, meaning) stats.name = bounded(row.name);
    WQ_MANAGER_STATS(WQ_COPY)
    WQ_OWN_STATS(WQ_COPY)
#undef WQ_COPY
    return stats;
}

// Enumerators by their names; nullopt: of a later version.
template <class Enum>
std::optional<Enum> named(std::string_view name) {
    for (int i = 0; i <= static_cast<int>(last_of(Enum{})); ++i)
        if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    return {};
}

template <class Map>
std::uint32_t place_in(const Map& places, std::uint32_t id) {
    const auto at = places.find(id);
    return at == places.end() ? no_place : at->second;
}

RunAttempt attempt_of(const records::hdf5::TaskRow& row) {
    RunAttempt attempt;
    attempt.task = static_cast<std::uint64_t>(std::max<std::int64_t>(row.task, 0));
    attempt.line = std::clamp<std::int64_t>(row.line, 0, most_amount);
    attempt.attempt = row.attempt;
    attempt.calls = std::max<std::uint32_t>(row.calls, 1);
    attempt.submitted = row.submitted, attempt.ready = row.ready, attempt.dispatched = row.dispatched;
    attempt.inputs_there = row.inputs_there, attempt.started = row.started, attempt.ended = row.ended;
    attempt.outputs_there = row.outputs_there, attempt.received = row.received;
    attempt.worker = row.worker;  // its id, until all workers are known
    attempt.ending = std::min(row.ending, last_of(engine::model::Ending{}));
    attempt.exit_code = row.exit_code;
    attempt.signal = row.signal;
    attempt.is_final = row.final == Flag::yes;
    attempt.is_accepted = attempt.is_final && attempt.succeeded();
    if (row.ending != engine::model::Ending::worker_lost) {  // which has no figures
        attempt.wall_us = std::clamp<std::int64_t>(row.wall, 0, latest_time);
        attempt.cpu_us = sum_of(row.user, row.system);
    }
    attempt.cores = std::max(thousandths_of<std::int32_t>(row.given_cores), 0);
    attempt.gpus = thousandths_of<std::int32_t>(row.given_gpus);
    attempt.memory_mb = amount_of(row.given_memory), attempt.disk_mb = amount_of(row.given_disk);
    attempt.cores_peak = thousandths_of<std::int32_t>(row.cores_peak);
    attempt.memory_peak_mb = amount_of(row.memory_peak), attempt.disk_peak_mb = amount_of(row.disk_peak);
    // Of its largest process, if nothing is known of its tree.
    if (attempt.memory_peak_mb < 0 && row.peak_memory > 0)
        attempt.memory_peak_mb = (row.peak_memory - 1) / 1024 + 1;
    attempt.disk_wait = static_cast<std::int16_t>(std::clamp(row.disk_wait, -1, 1000));
    if (attempt.ended == 0 && attempt.started > 0 && attempt.calls == 1 && attempt.wall_us >= 0)
        attempt.ended = std::min(attempt.started, latest_time) + attempt.wall_us;
    return attempt;
}

RunWorker worker_of(const records::hdf5::WorkerRow& row) {
    RunWorker worker;
    worker.id = row.worker, worker.rank = row.rank;
    worker.host = row.host.view(), worker.address = row.address.view();
    worker.job = row.job.view(), worker.why_left = row.why_left.view();
    worker.cores = std::int64_t{row.cores} * 1000, worker.gpus = std::int64_t{row.gpus} * 1000;
    worker.memory_mb = std::clamp<std::int64_t>(row.memory, 0, most_amount);
    worker.disk_mb = std::clamp<std::int64_t>(row.disk, 0, most_amount);
    if (row.allocated_cores > 0)
        worker.allocated_cores = std::min(row.allocated_cores, engine::model::most_size / 1000) * 1000;
    worker.job_started = row.job_started, worker.job_ends = row.job_ends;
    worker.process_started = row.process_started;
    worker.joined = row.joined, worker.left = row.left;
    for (WallMicros* time :
         {&worker.job_started, &worker.job_ends, &worker.process_started, &worker.joined, &worker.left})
        bound_time(*time);
    return worker;
}

// Sums of bytes over the transfers of a task and a worker, by time: of each attempt the difference of two.
class TransferSums {
  public:
    explicit TransferSums(const std::vector<RunTransfer>& by_time) {
        sums_.reserve(by_time.size());
        for (const RunTransfer& one : by_time) {
            const auto bytes = static_cast<std::int64_t>(one.bytes);
            sums_.push_back(
                {{one.task, one.worker, one.time}, one.is_input ? bytes : 0, one.is_input ? 0 : bytes});
        }
        std::stable_sort(sums_.begin(), sums_.end(),
                         [](const Sum& a, const Sum& b) { return a.until < b.until; });
        for (std::size_t place = 1; place < sums_.size(); ++place) {
            Sum& sum = sums_[place];
            const Sum& before = sums_[place - 1];
            if (!sum.is_beside(before.until)) continue;
            sum.in = std::min(sum.in + before.in, most_amount);
            sum.out = std::min(sum.out + before.out, most_amount);
        }
    }

    std::pair<std::int64_t, std::int64_t> of(const RunAttempt& attempt) const {
        const Sum after = up_to({attempt.task, attempt.worker, attempt.received});
        const Sum before = up_to({attempt.task, attempt.worker, attempt.dispatched - 1});
        return {std::max<std::int64_t>(after.in - before.in, 0),
                std::max<std::int64_t>(after.out - before.out, 0)};
    }

  private:
    using Moment = std::tuple<std::uint64_t, std::uint32_t, WallMicros>;  // of a task, on a worker
    struct Sum {
        Moment until;
        std::int64_t in = 0, out = 0;
        bool is_beside(const Moment& other) const {
            return std::get<0>(until) == std::get<0>(other) && std::get<1>(until) == std::get<1>(other);
        }
    };
    Sum up_to(const Moment& moment) const {
        const auto next = std::upper_bound(sums_.begin(), sums_.end(), moment,
                                           [](const Moment& at, const Sum& sum) { return at < sum.until; });
        if (next == sums_.begin() || !std::prev(next)->is_beside(moment)) return {};
        return *std::prev(next);
    }

    std::vector<Sum> sums_;
};

}  // namespace

RunRows::RunRows(std::size_t attempts, Transfers transfers) : transfers_(transfers) {
    run_.attempts.reserve(attempts);
}

void RunRows::add(const records::hdf5::ManagerRow& row) {
    samples_.push_back(row);
    bound_time(samples_.back().timestamp), bound_time(samples_.back().time_when_started);
}

void RunRows::add(const records::hdf5::WorkerRow& row) {
    const auto [at, is_new] = worker_places_.try_emplace({row.worker, row.joined}, workers_.size());
    if (is_new)
        workers_.push_back(row);
    else
        workers_[at->second] = row;
}

void RunRows::add(const records::hdf5::CategoryRow& row) {
    const auto [at, is_new] = category_names_.try_emplace(std::string(row.name.view()),
                                                          static_cast<std::uint32_t>(run_.categories.size()));
    if (is_new) run_.categories.push_back({at->first});
    categories_[row.category] = at->second;
}

void RunRows::add(const records::hdf5::AskRow& row) {
    RunAsk ask;
    const auto count = [](double amount) {
        return Count::of_thousandths(amount < 0 ? -1000 : thousandths_of<std::int64_t>(amount));
    };
    ask.needs.cores = count(row.cores), ask.needs.gpus = count(row.gpus);
    ask.needs.memory_mb = amount_of(row.memory), ask.needs.disk_mb = amount_of(row.disk);
    ask.needs.coprocesses = std::min<std::int64_t>(row.coprocesses, engine::model::most_coprocesses);
    ask.features = row.features.view();
    const auto [at, is_new] = ask_places_.try_emplace(std::pair(ask.needs, ask.features),
                                                      static_cast<std::uint32_t>(run_.asks.size()));
    asks_[row.ask] = at->second;
    if (!is_new) return;
    run_.asks.push_back(std::move(ask));
    if (row.ask == records::journal::further_ask.value())
        run_.lacks.push_back("tasks asked for more than " + std::to_string(row.ask - 1) +
                             " different amounts: further ones are counted as one that asks for nothing");
}

void RunRows::add(const records::hdf5::WorkerChangeRow& row) {
    changes_.push_back(row);
    bound_time(changes_.back().time);
}

void RunRows::add(const records::hdf5::WaitingRow& row) {
    const auto reason = named<engine::model::WaitReason>(row.reason.view());
    if (!reason) return;
    run_.waiting.push_back({row.time, std::min(row.tasks, most_tasks), place_in(asks_, row.ask), *reason});
    bound_time(run_.waiting.back().time);
}

void RunRows::add(const records::hdf5::TransferRow& row) {
    RunTransfer transfer;
    transfer.time = row.time;
    transfer.wall_us = std::clamp<std::int64_t>(row.wall, 0, latest_time);
    transfer.task = static_cast<std::uint64_t>(std::max<std::int64_t>(row.task, 0));
    transfer.bytes = std::min(row.bytes, most_bytes);
    transfer.worker = row.worker;  // its id, until all workers are known
    transfer.is_input = row.direction == Direction::input;
    transfer.name = row.name.view();
    bound_time(transfer.time);
    run_.transfers.push_back(std::move(transfer));
}

void RunRows::add(const records::hdf5::TaskRow& row) {
    RunAttempt attempt = attempt_of(row);
    attempt.category = place_in(categories_, row.category);
    if (attempt.category == no_place) {
        records::hdf5::CategoryRow unnamed;
        unnamed.category = row.category;
        unnamed.name = row.category == 0 ? "default" : "category " + std::to_string(row.category);
        add(unnamed);
        attempt.category = place_in(categories_, row.category);
    }
    attempt.ask = place_in(asks_, row.ask);
    is_any_tree_measured_ = is_any_tree_measured_ || row.memory_peak >= 0;
    run_.attempts.push_back(attempt);
}

RunView RunRows::result(bool is_live) {
    run_.is_live = is_live;
    const auto by_time = [](const auto& a, const auto& b) { return a.time < b.time; };
    std::stable_sort(run_.waiting.begin(), run_.waiting.end(), by_time);
    std::stable_sort(samples_.begin(), samples_.end(),
                     [](const auto& a, const auto& b) { return a.timestamp < b.timestamp; });
    finish_sessions();
    finish_workers(is_live);
    finish_attempts();
    finish_transfers();
    finish_times();
    say_what_was_not_measured();
    return std::move(run_);
}

void RunRows::finish_sessions() {
    std::map<WallMicros, WallMicros> sessions;
    run_.samples.reserve(samples_.size());
    for (const records::hdf5::ManagerRow& row : samples_) {
        run_.samples.push_back({row.timestamp, stats_of(row)});
        WallMicros& end = sessions[row.time_when_started];
        end = std::max({end, row.timestamp, row.time_when_started});
    }
    for (const auto& [begin, end] : sessions) run_.sessions.push_back({begin, end});
}

void RunRows::finish_workers(bool is_live) {
    std::stable_sort(workers_.begin(), workers_.end(),
                     [](const auto& a, const auto& b) { return a.joined < b.joined; });
    const WallMicros last_session = run_.sessions.empty() ? 0 : run_.sessions.back().begin;
    std::vector<bool> has_no_end;
    for (const records::hdf5::WorkerRow& row : workers_) has_no_end.push_back(row.left <= 0);
    const WorkerRows rows(std::move(workers_), samples_);
    std::size_t killed = 0;
    for (std::size_t place = 0; place < rows.workers().size(); ++place) {
        const records::hdf5::WorkerRow& row = rows.workers()[place];
        RunWorker worker = worker_of(row);
        const bool is_here = has_no_end[place] && is_live && row.joined >= last_session;
        if (is_here) worker.left = 0;
        killed += has_no_end[place] && !is_here ? 1 : 0;
        run_.workers.push_back(std::move(worker));
    }
    if (killed > 0)
        run_.lacks.push_back(
            "what " + count_of(killed, "worker") +
            " ran when the run was killed is not recorded: for the account, nothing; their end "
            "is the last sample before");
    finish_places(rows);
}

// Places of workers instead of their ids.
void RunRows::finish_places(const WorkerRows& rows) {
    for (const records::hdf5::WorkerChangeRow& row : changes_) {
        const auto place = rows.place_of(row.worker, row.time);
        const auto change = named<records::journal::WorkerChange>(row.change.view());
        if (place && change)
            run_.workers[*place].changes.push_back({row.time, *change, std::string(row.why.view())});
    }
    const auto place_of = [&](std::uint32_t id, WallMicros when) {
        const auto place = rows.place_of(id, when);
        return place ? static_cast<std::uint32_t>(*place) : no_place;
    };
    for (RunAttempt& attempt : run_.attempts)
        attempt.worker = attempt.ending == engine::model::Ending::never_ran
                             ? no_place
                             : place_of(attempt.worker, attempt.received);
    for (RunTransfer& transfer : run_.transfers) transfer.worker = place_of(transfer.worker, transfer.time);
}

void RunRows::finish_attempts() {
    for (RunAttempt& attempt : run_.attempts) {
        shift_clock(attempt);
        bring_into_order(attempt);
    }
    const auto is_before = [](const RunAttempt& a, const RunAttempt& b) {
        return std::tuple(a.received, a.task, a.attempt) < std::tuple(b.received, b.task, b.attempt);
    };
    const bool is_sorted =
        std::is_sorted(run_.attempts.begin(), run_.attempts.end(),
                       [](const auto& a, const auto& b) { return a.received < b.received; });
    if (!is_sorted) std::sort(run_.attempts.begin(), run_.attempts.end(), is_before);
}

// The bytes of each attempt's files.
void RunRows::finish_transfers() {
    if (transfers_ == Transfers::absent) return;
    std::sort(run_.transfers.begin(), run_.transfers.end(), [](const RunTransfer& a, const RunTransfer& b) {
        return std::tie(a.time, a.task, a.name) < std::tie(b.time, b.task, b.name);
    });
    const TransferSums sums(run_.transfers);
    for (RunAttempt& attempt : run_.attempts)
        std::tie(attempt.bytes_in, attempt.bytes_out) = sums.of(attempt);
}

void RunRows::finish_times() {
    WallMicros begin = latest_time;
    const auto include = [&](WallMicros time) {
        if (time == 0) return;
        begin = std::min(begin, time);
        run_.end = std::max(run_.end, time);
    };
    for (const RunSession& session : run_.sessions) include(session.begin), include(session.end);
    if (run_.sessions.empty())
        for (const RunAttempt& attempt : run_.attempts)
            include(attempt.submitted), include(attempt.dispatched);
    for (const RunAttempt& attempt : run_.attempts) run_.end = std::max(run_.end, attempt.received);
    for (const RunWorker& worker : run_.workers) {
        include(run_.sessions.empty() ? worker.joined : 0);
        run_.end = std::max(run_.end, worker.left);
    }
    run_.begin = begin == latest_time ? 0 : begin;
    if (run_.sessions.empty() && run_.begin != 0) run_.sessions.push_back({run_.begin, run_.end});
    if (!run_.sessions.empty()) run_.sessions.back().end = std::max(run_.sessions.back().end, run_.end);
}

void RunRows::say_what_was_not_measured() {
    if (run_.attempts.empty()) return;
    if (std::none_of(run_.attempts.begin(), run_.attempts.end(),
                     [](const RunAttempt& attempt) { return attempt.disk_wait >= 0; }))
        run_.lacks.push_back("how long tasks waited for files is not recorded: run with --monitor=measure");
    if (!is_any_tree_measured_)
        run_.lacks.push_back(
            "peaks of cores and disk are not recorded, and memory is that of the largest "
            "process: run with --monitor=measure");
}

}  // namespace wq::views::model
