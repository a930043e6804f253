// A run whose figures are known: 8 tasks of three categories, on two hosts.
#pragma once

#include <cstdint>
#include <string>

#include "views/report/figures.h"
#include "views/report/reported_run.h"

namespace wq::views::report::test {

inline constexpr WallMicros second = micros_per_second;
inline constexpr WallMicros begin = 1'800'000'000 * second;  // 2027-01-15 08:00:00 UTC

// A success that ran from `start` for `wall` seconds, both in seconds since the run's begin.
inline model::RunAttempt attempt(std::uint64_t task, std::uint32_t category, std::uint32_t worker,
                                 std::int64_t start, std::int64_t wall) {
    model::RunAttempt made;
    made.task = task;
    made.line = static_cast<std::int64_t>(task) + 2;
    made.category = category;
    made.worker = worker;
    made.submitted = begin;
    made.dispatched = begin + start * second;
    made.started = begin + start * second;
    made.wall_us = wall * second;
    made.ended = made.received = made.started + made.wall_us;
    made.cores = 1000;
    made.cpu_us = made.wall_us / 2;
    made.is_accepted = true;
    return made;
}

inline model::RunAttempt failed(model::RunAttempt made, engine::model::Ending ending, int exit_code = 0) {
    made.ending = ending;
    made.exit_code = exit_code;
    made.is_accepted = false;
    return made;
}

inline model::RunWorker worker(std::uint32_t id, const std::string& host, std::int64_t cores) {
    model::RunWorker made;
    made.id = id;
    made.host = host;
    made.address = host + ":" + std::to_string(9000 + id);
    made.cores = cores * 1000;
    made.memory_mb = 16384;
    made.joined = begin;
    made.left = begin + 100 * second;
    return made;
}

inline model::RunView sample_view() {
    using engine::model::Ending;
    model::RunView run;
    run.title = "tasks.sh";
    run.path = "tasks.sh.wq/stats.h5";
    run.host = "login1";
    run.begin = begin;
    run.end = begin + 100 * second;
    run.read_at = run.end;
    run.sessions = {{begin, begin + 60 * second}, {begin + 80 * second, run.end}};
    run.categories = {{"align"}, {"merge"}, {"index"}};
    run.workers = {worker(0, "node1", 4), worker(1, "node2", 4)};
    // Run times of align on node1: 10, 10, 10; on node2: 20 and 20.
    run.attempts = {attempt(1, 0, 0, 0, 10), attempt(2, 0, 0, 0, 10), attempt(3, 0, 0, 10, 10),
                    attempt(4, 0, 1, 0, 20), attempt(5, 0, 1, 0, 20)};
    for (model::RunAttempt& each : run.attempts) each.memory_mb = 8192, each.memory_peak_mb = 1024;
    // Failed once, then succeeded.
    run.attempts.push_back(failed(attempt(6, 1, 1, 0, 30), Ending::exited, 3));
    run.attempts.back().is_final = false;
    run.attempts.push_back(attempt(6, 1, 0, 30, 30));
    run.attempts.back().attempt = 2;
    run.attempts.back().cores = 4000;
    run.attempts.back().cpu_us = 30 * second;
    run.attempts.push_back(failed(attempt(7, 1, 0, 80, 5), Ending::signalled));
    run.attempts.back().signal = 11;
    run.attempts.push_back(failed(attempt(8, 2, model::no_place, 0, 0), Ending::never_ran));
    run.attempts.back().started = run.attempts.back().dispatched = 0;
    return run;
}

// Sums to 800 core-seconds, as the workers offered.
inline model::Account sample_account() {
    using model::AccountLine;
    constexpr model::CoreTime core_second = 1'000'000'000;
    model::Account account;
    account.offered = 800 * core_second;
    account.at(AccountLine::useful) = 65 * core_second;
    account.at(AccountLine::idle_in_tasks) = 125 * core_second;
    account.at(AccountLine::lost) = 35 * core_second;
    account.at(AccountLine::tail) = 475 * core_second;
    account.at(AccountLine::packing_memory_held) = 100 * core_second;
    account.lost_by_ending[static_cast<std::size_t>(engine::model::Ending::exited)] = 30 * core_second;
    account.lost_by_ending[static_cast<std::size_t>(engine::model::Ending::signalled)] = 5 * core_second;
    return account;
}

inline ReportedRun reported(model::RunView run, const model::Account& account = {},
                            const TextOf& stderr_of = {}) {
    RunFigures figures = figures_of(run, {stderr_of});
    return {std::move(run), std::move(figures), account};
}

inline ReportedRun sample() {
    return reported(sample_view(), sample_account(), [](const model::RunAttempt& each) {
        return each.task == 6 ? std::string("reading x\nx: no space left\n") : std::string();
    });
}

// A name that would clear the terminal, end an HTML element and a JSON text, and ring.
inline const std::string hostile =
    "\x1b[2J\x07</script>\"\n\xc2\x9b"
    "31m";

}  // namespace wq::views::report::test
