// The definition of the account, microsecond by microsecond: slow and simple. For runs with sound clocks
// (random_run.h), whose workers have no batch job in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/model/allocation.h"
#include "views/model/account.h"

namespace wq::views::model::testing {

class SimpleAccount {
  public:
    explicit SimpleAccount(const RunView& run) : run_(run), ran_(run.attempts.size()) {}

    Account result() {
        WallMicros last = run_.end;
        for (const RunWorker& worker : run_.workers) last = std::max(last, worker.left);
        for (WallMicros now = 0; now <= last; ++now)
            for (std::size_t worker = 0; worker < run_.workers.size(); ++worker) add(worker, now);
        for (std::size_t i = 0; i < ran_.size(); ++i) divide(run_.attempts[i], ran_[i]);
        return account_;
    }

  private:
    using Reason = engine::model::WaitReason;

    // ---- an attempt ----

    WallMicros end_of(const RunAttempt& one) const {
        return one.received != 0
                   ? one.received
                   : std::max({run_.end, one.dispatched, one.started, one.ended, one.outputs_there});
    }
    static WallMicros begin_of(const RunAttempt& one) {
        if (one.calls > 1 && one.started != 0) return one.started;
        return one.dispatched != 0 ? one.dispatched : one.started;
    }
    bool is_with_worker(const RunAttempt& one, WallMicros now) const {
        return begin_of(one) != 0 && begin_of(one) <= now && now < end_of(one);
    }
    bool runs(const RunAttempt& one, WallMicros now) const {
        if (one.calls > 1) return is_with_worker(one, now);
        return one.started != 0 && one.started <= now && now < (one.ended != 0 ? one.ended : end_of(one));
    }
    AccountLine line_of(const RunAttempt& one, WallMicros now) const {
        const AccountLine other = run_.has_file_times ? AccountLine::start_and_report : AccountLine::unknown;
        if (one.started == 0 || now < one.started)
            return one.inputs_there != 0 && now < one.inputs_there ? AccountLine::files_in : other;
        return one.outputs_there != 0 && now < one.outputs_there ? AccountLine::files_out : other;
    }
    WallMicros taken(const RunAttempt& one) const {
        if (begin_of(one) != 0) return begin_of(one);
        return one.received != 0 ? one.received : std::max(run_.end, one.ready);
    }
    bool is_ready(const RunAttempt& one, WallMicros now) const {
        return one.ready != 0 && one.ready <= now && now < taken(one);
    }
    bool is_blocked(const RunAttempt& one, WallMicros now) const {
        WallMicros since = one.submitted != 0 ? one.submitted : one.ready;
        std::pair<std::uint32_t, WallMicros> before{0, 0};
        for (const RunAttempt& other : run_.attempts)
            if (!other.is_final && other.task == one.task && other.attempt < one.attempt)
                before = std::max(before, std::pair(other.attempt, other.received));
        return std::max(since, before.second) <= now && now < one.ready;
    }

    // ---- what waits ----

    std::uint32_t ask_of(std::uint32_t ask) const {
        return std::min(ask, static_cast<std::uint32_t>(run_.asks.size()));
    }
    // The last row at or before `now`, not from before the last session.
    std::int64_t row(std::uint32_t ask, Reason reason, WallMicros now) const {
        std::int64_t tasks = 0;
        for (const RunWaiting& one : run_.waiting)
            if (one.time <= now && one.time >= session(now) && ask_of(one.ask) == ask && one.reason == reason)
                tasks = static_cast<std::int64_t>(one.tasks);
        return tasks;
    }
    std::int64_t rows(Reason reason, WallMicros now) const {
        std::int64_t tasks = 0;
        for (std::uint32_t ask = 0; ask <= run_.asks.size(); ++ask) tasks += row(ask, reason, now);
        return tasks;
    }
    WallMicros session(WallMicros now) const {
        WallMicros begin = 0;
        for (const RunSession& one : run_.sessions)
            if (one.begin <= now) begin = std::max(begin, one.begin);
        return begin;
    }
    std::int64_t attempts_ready(std::uint32_t ask, WallMicros now) const {
        return std::count_if(run_.attempts.begin(), run_.attempts.end(), [&](const RunAttempt& one) {
            return ask_of(one.ask) == ask && is_ready(one, now);
        });
    }
    std::int64_t waiting(std::uint32_t ask, WallMicros now) const {
        std::optional<WallMicros> last;
        for (const RunWaiting& one : run_.waiting)
            if (one.time <= now && one.time >= session(now) && ask_of(one.ask) == ask) last = one.time;
        std::int64_t never_ran = 0;
        if (last) {
            never_ran = -attempts_ready(ask, *last);
            for (const Reason reason :
                 {Reason::busy, Reason::no_worker, Reason::nowhere, Reason::hosts, Reason::limit})
                never_ran += row(ask, reason, *last);
        }
        return attempts_ready(ask, now) + std::max<std::int64_t>(never_ran, 0);
    }
    std::pair<std::int64_t, std::int64_t> attempts_blocked(WallMicros now) const {
        std::pair<std::int64_t, std::int64_t> count;
        for (const RunAttempt& one : run_.attempts)
            if (one.ready != 0 && is_blocked(one, now)) (one.attempt > 1 ? count.second : count.first) += 1;
        return count;
    }
    std::int64_t blocked_never_ran(WallMicros now) const {
        std::optional<WallMicros> last;
        for (const RunWaiting& one : run_.waiting)
            if (one.time <= now && one.time >= session(now) &&
                (one.reason == Reason::tasks || one.reason == Reason::start_time))
                last = one.time;
        if (!last) return 0;
        const auto [first, again] = attempts_blocked(*last);
        return std::max<std::int64_t>(
            rows(Reason::tasks, *last) + rows(Reason::start_time, *last) - first - again, 0);
    }
    bool is_held_back(WallMicros now) const {
        WallMicros last_row = session(now);
        for (const RunWaiting& one : run_.waiting)
            if (one.time <= now && one.reason == Reason::no_worker) last_row = std::max(last_row, one.time);
        std::optional<WallMicros> last;
        for (const RunSample& one : run_.samples)
            if (one.time <= now && one.time >= last_row) last = std::max(last.value_or(0), one.time);
        if (!last || rows(Reason::no_worker, *last) == 0) return false;
        for (const RunWorker& worker : run_.workers)
            if (begin_of(worker) <= *last && *last < end_of(worker) && worker.joined <= *last &&
                !state_of(worker, *last).disconnected)
                return true;
        return false;
    }

    // ---- a worker ----

    struct State {
        bool disconnected = false, excluded = false, draining = false;
    };
    static State state_of(const RunWorker& worker, WallMicros now) {
        using records::journal::WorkerChange;
        State state;
        for (const RunWorkerChange& one : worker.changes) {
            if (one.time > now) continue;
            if (one.change == WorkerChange::disconnected) state.disconnected = true;
            if (one.change == WorkerChange::back || one.change == WorkerChange::joined)
                state.disconnected = false;
            if (one.change == WorkerChange::excluded) state.excluded = true;
            if (one.change == WorkerChange::admitted) state.excluded = false;
            if (one.change == WorkerChange::draining) state.draining = true;
            if (one.change == WorkerChange::stays) state.draining = false;
        }
        return state;
    }
    WallMicros begin_of(const RunWorker& worker) const {
        WallMicros begin = worker.joined;
        if (worker.process_started != 0) begin = worker.process_started;
        if (worker.job_started != 0) begin = worker.job_started;
        return std::max(begin, session(worker.joined));
    }
    WallMicros end_of(const RunWorker& worker) const { return worker.left != 0 ? worker.left : run_.end; }

    void add(std::size_t place, WallMicros now) {
        const RunWorker& worker = run_.workers[place];
        if (now < begin_of(worker) || now >= end_of(worker)) return;
        account_.offered += worker.cores;
        std::int64_t left = worker.cores;
        Resources taken;
        std::int64_t peak = 0;
        add_running(place, now, left, taken, peak);
        add_pending(place, now, left, taken, peak);
        if (left > 0) account_.at(free_line(worker, now, left, taken, peak)) += left;
    }

    using Resources = engine::model::Resources;
    void take(const RunAttempt& one, Resources& taken, std::int64_t& peak) const {
        const std::int64_t memory = std::max<std::int64_t>(one.memory_mb, 0);
        taken.memory_mb += memory;
        peak += one.memory_peak_mb < 0 ? memory : one.memory_peak_mb;
        taken.disk_mb += std::max<std::int64_t>(one.disk_mb, 0);
        taken.gpus += Count::of_thousandths(std::max(one.gpus, 0));
        if (one.ask < run_.asks.size()) taken.coprocesses += run_.asks[one.ask].needs.coprocesses;
    }
    std::vector<std::size_t> by_dispatch(std::size_t worker, WallMicros now, bool running) const {
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < run_.attempts.size(); ++i) {
            const RunAttempt& one = run_.attempts[i];
            if (one.worker == worker && is_with_worker(one, now) && runs(one, now) == running)
                places.push_back(i);
        }
        std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
            return begin_of(run_.attempts[a]) < begin_of(run_.attempts[b]);
        });
        return places;
    }
    std::int64_t cores_of(const RunAttempt& one) const {
        if (one.calls == 1) return one.cores;
        const std::int64_t wall = std::max<std::int64_t>(one.wall_us, 0);
        return std::min(wall * one.cores / (end_of(one) - begin_of(one)), run_.workers[one.worker].cores);
    }
    void add_running(std::size_t worker, WallMicros now, std::int64_t& left, Resources& taken,
                     std::int64_t& peak) {
        const std::vector<std::size_t> places = by_dispatch(worker, now, true);
        std::int64_t wanted = 0;
        for (const std::size_t place : places) wanted += cores_of(run_.attempts[place]);
        const std::int64_t all = left;
        std::int64_t sum = 0;
        for (const std::size_t place : places) {
            const RunAttempt& one = run_.attempts[place];
            const std::int64_t before = wanted > all ? sum * all / wanted : sum;
            sum += cores_of(one);
            const std::int64_t held = (wanted > all ? sum * all / wanted : sum) - before;
            hold(one, held, AccountLine::running, place);
            take(one, taken, peak);
            left -= held;
        }
    }
    void add_pending(std::size_t worker, WallMicros now, std::int64_t& left, Resources& taken,
                     std::int64_t& peak) {
        for (const std::size_t place : by_dispatch(worker, now, false)) {
            const RunAttempt& one = run_.attempts[place];
            const std::int64_t held = std::min(left, cores_of(one));
            hold(one, held, line_of(one, now), place);
            if (held > 0 || cores_of(one) == 0) take(one, taken, peak);
            left -= held;
        }
    }
    void hold(const RunAttempt& one, std::int64_t held, AccountLine line, std::size_t place) {
        if (one.received != 0 && !one.is_accepted) {
            account_.at(AccountLine::lost) += held;
            account_.lost_by_ending[static_cast<std::size_t>(one.ending)] += held;
        } else if (line == AccountLine::running && one.received != 0) {
            ran_[place] += held;
        } else {
            account_.at(line) += held;
        }
    }

    // ---- free cores ----

    AccountLine free_line(const RunWorker& worker, WallMicros now, std::int64_t left, const Resources& taken,
                          std::int64_t peak) const {
        const State state = state_of(worker, now);
        if (now < worker.joined) return AccountLine::starting;
        if (state.disconnected) return AccountLine::disconnected;
        if (state.excluded) return AccountLine::excluded;
        if (state.draining) return AccountLine::draining;
        bool is_recorded = !run_.waiting.empty();
        WallMicros last_submitted = 0, last_end = 0;
        bool is_some_left = false, some_with_worker = false;
        for (const RunAttempt& one : run_.attempts) {
            is_recorded = is_recorded || one.ready != 0;
            last_submitted = std::max(last_submitted, one.submitted);
            last_end = std::max(last_end, one.received);
            is_some_left = is_some_left || one.received == 0;
            some_with_worker = some_with_worker || is_with_worker(one, now);
        }
        if (!is_recorded) return AccountLine::unknown;
        if (is_held_back(now) || rows(Reason::stopping, now) + rows(Reason::storage, now) > 0)
            return AccountLine::manager;
        std::optional<AccountLine> best;
        std::int64_t limited = 0;
        for (std::uint32_t ask = 0; ask <= run_.asks.size(); ++ask) {
            limited += waiting(ask, now);
            if (waiting(ask, now) <= row(ask, Reason::limit, now)) continue;
            const AccountLine line = ask_line(ask, worker, left, taken, peak);
            best = best ? std::min(*best, line) : line;
        }
        if (best) return *best;
        const auto [first, again] = attempts_blocked(now);
        if (first + again + blocked_never_ran(now) > 0) {
            if (rows(Reason::tasks, now) > 0) return AccountLine::waits_for_tasks;
            if (rows(Reason::start_time, now) > 0 || first == 0) return AccountLine::waits_for_limits;
            return AccountLine::waits_for_tasks;
        }
        if (limited > 0) return AccountLine::waits_for_limits;
        if (rows(Reason::program, now) > 0 || now < last_submitted) return AccountLine::waits_for_program;
        if (some_with_worker) return AccountLine::tail;
        return is_some_left || now < last_end ? AccountLine::unknown : AccountLine::after_the_end;
    }

    AccountLine ask_line(std::uint32_t ask, const RunWorker& worker, std::int64_t left,
                         const Resources& taken, std::int64_t peak) const {
        if (ask == run_.asks.size()) return AccountLine::unknown;
        const engine::model::Needs& needs = run_.asks[ask].needs;
        if (needs.coprocesses > 0 && worker.coprocesses < 0) return AccountLine::unknown;
        const Resources whole{Count::of_thousandths(worker.cores), worker.memory_mb, worker.disk_mb,
                              Count::of_thousandths(worker.gpus),
                              std::max<std::int64_t>(worker.coprocesses, 0)};
        const Resources give = engine::model::allocate(needs, whole);
        if (!give.fits_in(whole) || !engine::model::ever_fits(needs, whole)) return AccountLine::fits_nowhere;
        const bool is_able =
            std::any_of(run_.attempts.begin(), run_.attempts.end(), [&](const RunAttempt& one) {
                return one.ask == ask && one.dispatched != 0 && one.worker < run_.workers.size() &&
                       &run_.workers[one.worker] == &worker;
            });
        if (!run_.asks[ask].features.empty() && !is_able) return AccountLine::unknown;
        Resources free = whole;
        free -= taken;
        free.cores = Count::of_thousandths(left);
        if (give.fits_in(free)) return AccountLine::dispatch;
        if (give.memory_mb > 0 && give.memory_mb > free.memory_mb)
            return give.memory_mb > whole.memory_mb - peak ? AccountLine::packing_memory
                                                           : AccountLine::packing_memory_held;
        if (give.gpus > 0 && give.gpus > free.gpus) return AccountLine::packing_gpus;
        if (give.disk_mb > 0 && give.disk_mb > free.disk_mb) return AccountLine::packing_disk;
        if (give.coprocesses > 0 && give.coprocesses > free.coprocesses)
            return AccountLine::packing_coprocesses;
        return AccountLine::packing_cores;
    }

    void divide(const RunAttempt& one, CoreTime ran) {
        if (one.received == 0 || !one.is_accepted || one.worker >= run_.workers.size()) return;
        if (one.cpu_us < 0) {
            account_.at(AccountLine::unknown) += ran;
            return;
        }
        const CoreTime used = CoreTime{one.cpu_us} * 1000;
        const CoreTime rest = used < ran ? ran - used : 0;
        const CoreTime waited = one.disk_wait < 0 ? 0 : rest * one.disk_wait / 1000;
        account_.at(AccountLine::useful) += ran - rest;
        account_.at(AccountLine::waited_for_files) += waited;
        account_.at(AccountLine::idle_in_tasks) += rest - waited;
        if (one.disk_wait < 0) account_.idle_not_sampled += rest;
        account_.above_allocation += used - (ran - rest);
    }

    const RunView& run_;
    std::vector<CoreTime> ran_;
    Account account_;
};

inline Account simple_account(const RunView& run) {
    return SimpleAccount(run).result();
}

}  // namespace wq::views::model::testing
