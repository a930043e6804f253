// A run of two hosts, three workers and some tasks, one of each kind, made by hand.
#pragma once

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "views/terminal/watch.h"

namespace wq::views::terminal {

inline constexpr WallMicros second = micros_per_second;
inline constexpr WallMicros noon = 1'700'000'000 * second - 13 * 60 * second - 20 * second;  // 22:00:00 UTC

// Times on the pages are those of UTC.
inline void use_utc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
}

inline model::RunAttempt attempt(std::uint64_t task, double begin, double end, int exit_code = 0) {
    const auto at = [](double seconds) { return noon + static_cast<WallMicros>(seconds * second); };
    model::RunAttempt one;
    one.task = task;
    one.line = static_cast<std::int64_t>(task) + 1;
    one.submitted = noon;
    one.ready = noon + second;
    one.dispatched = at(begin);
    one.inputs_there = at(begin + 0.25);
    one.started = at(begin + 0.5);
    one.ended = at(end - 0.5);
    one.outputs_there = at(end - 0.25);
    one.received = at(end);
    one.wall_us = one.ended - one.started;
    one.cpu_us = one.wall_us / 2;
    one.cores = 1000;
    one.memory_mb = 2048;
    one.memory_peak_mb = 812;
    one.exit_code = exit_code;
    one.is_accepted = exit_code == 0;
    one.category = 0;
    one.worker = 0;
    one.ask = 0;
    return one;
}

inline model::RunWorker worker(std::uint32_t id, std::string host, std::int64_t cores, double joined) {
    model::RunWorker one;
    one.id = id;
    one.address = host + ":4000" + std::to_string(id);
    one.host = std::move(host);
    one.cores = cores * 1000;
    one.joined = noon + static_cast<WallMicros>(joined * second);
    one.process_started = one.joined - second / 2;
    return one;
}

inline void add_attempts(model::RunView& run) {
    for (std::uint64_t task = 1; task <= 8; ++task) {
        const auto begin = static_cast<double>(2 + task);
        model::RunAttempt one = attempt(task, begin, begin + 6);
        one.worker = task % 2 == 0 ? 0 : 1;
        run.attempts.push_back(one);
    }
    model::RunAttempt first = attempt(9, 12, 20, 3);
    first.is_final = false;
    model::RunAttempt second_try = attempt(9, 21, 30, 3);
    second_try.attempt = 2;
    model::RunAttempt killed = attempt(10, 13, 31);
    killed.ending = engine::model::Ending::signalled;
    killed.signal = 11;
    killed.is_accepted = false;
    killed.category = 1;
    killed.worker = 1;
    model::RunAttempt too_large = attempt(11, 14, 32);
    too_large.ending = engine::model::Ending::out_of_memory;
    too_large.is_accepted = too_large.is_final = false;
    too_large.category = 1;
    run.attempts.insert(run.attempts.end(), {first, second_try, killed, too_large});
    for (std::uint64_t task = 12; task <= 14; ++task) {
        model::RunAttempt runs = attempt(task, static_cast<double>(20 + task), 0);
        runs.received = runs.ended = runs.outputs_there = 0;
        runs.wall_us = runs.cpu_us = 0;
        runs.is_accepted = false;
        runs.category = 1;
        runs.worker = task == 12 ? 0 : 1;
        run.attempts.push_back(runs);
    }
}

inline void add_samples(model::RunView& run) {
    for (int at = 1; at <= 40; ++at) {
        model::RunSample sample;
        sample.time = noon + at * second;
        sample.stats.tasks_submitted = 20;
        for (const model::RunAttempt& one : run.attempts) {
            const bool is_over = one.received != 0 && one.received <= sample.time;
            if (is_over && one.is_final) sample.stats.tasks_done += 1;
            if (is_over && one.is_final && !one.succeeded()) sample.stats.tasks_failed += 1;
            if (!is_over && one.dispatched <= sample.time) sample.stats.tasks_running += 1;
        }
        sample.stats.tasks_waiting = 20 - sample.stats.tasks_done - sample.stats.tasks_running;
        run.samples.push_back(sample);
    }
}

inline model::RunView hand_made_run() {
    use_utc();
    model::RunView run;
    run.title = "tasks.sh";
    run.path = "tasks.sh.wq/stats.h5";
    run.host = "login1";
    run.is_live = true;
    run.begin = noon;
    run.end = noon + 40 * second;
    run.sessions = {{run.begin, run.end}};
    run.categories = {{"align"}, {"merge"}};
    run.asks = {{{1, 2048, -1, -1, 0}, ""}, {{4, -1, -1, 1, 0}, "avx"}};
    run.workers = {worker(1, "node1", 4, 1), worker(2, "node2", 8, 2), worker(3, "node2", 2, 3)};
    run.workers[2].left = noon + 35 * second;
    run.workers[2].why_left = "idle for 30 s";
    run.workers[1].changes = {{noon + 2 * second, records::journal::WorkerChange::joined, ""},
                              {noon + 36 * second, records::journal::WorkerChange::draining, "job ends"}};
    add_attempts(run);
    add_samples(run);
    run.waiting = {{noon + second, 14, 0, engine::model::WaitReason::busy},
                   {noon + 30 * second, 4, 0, engine::model::WaitReason::busy},
                   {noon + 33 * second, 2, 1, engine::model::WaitReason::nowhere}};
    run.lacks = {"not recorded: waits for a disk (--monitor records them)"};
    return run;
}

// Its lines are plain figures: the pages do not care where they come from.
inline model::Account hand_made_account() {
    constexpr model::CoreTime core_hour = model::CoreTime{1000} * 3600 * second;
    model::Account account;
    account.at(model::AccountLine::useful) = 5 * core_hour;
    account.at(model::AccountLine::idle_in_tasks) = 2 * core_hour;
    account.at(model::AccountLine::lost) = core_hour;
    account.at(model::AccountLine::dispatch) = core_hour / 100;
    account.at(model::AccountLine::tail) = 2 * core_hour - core_hour / 100;
    for (const model::CoreTime line : account.lines) account.offered += line;
    account.not_offered = core_hour / 2;
    return account;
}

inline std::shared_ptr<const RunPicture> picture_of(model::RunView run) {
    return std::make_shared<const RunPicture>(RunPicture{std::move(run), hand_made_account()});
}

inline Watch hand_made_watch() {
    return Watch(picture_of(hand_made_run()));
}

// Keys as a user types them: characters, and these for others.
inline WatchState::Act press(Watch& watch, std::string_view keys, Size size = {80, 24}) {
    auto act = WatchState::Act::none;
    for (const char key : keys) {
        Key::Kind kind = Key::Kind::character;
        if (key == '\r') kind = Key::Kind::enter;
        if (key == '\x1b') kind = Key::Kind::escape;
        if (key == '\t') kind = Key::Kind::tab;
        if (key == '\b') kind = Key::Kind::backspace;
        if (key == '\v') kind = Key::Kind::down;
        act = watch.apply({kind, static_cast<char32_t>(key)}, size);
    }
    return act;
}

inline std::string text_of(Watch& watch, Size size = {80, 24}, Glyphs glyphs = Glyphs::utf8) {
    return watch.frame(size, glyphs, noon + 42 * second).plain();
}

}  // namespace wq::views::terminal
