// Small runs at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "views/model/run_view.h"

namespace wq::views::model::testing {

// Sound clocks: times are in their order, and within a few dozen microseconds.
enum class Clocks : std::uint8_t { sound, jumping };
inline constexpr WallMicros most_time = 90;

class RandomRun {
  public:
    RandomRun(std::mt19937& random, Clocks clocks) : random_(random), clocks_(clocks) {}

    RunView result() {
        run_.begin = 1, run_.end = one_of(most_time / 2, most_time);
        run_.has_file_times = !is_one_in(8);
        for (auto n = one_of(0, 3); n > 0; --n) run_.asks.push_back(ask());
        for (auto n = one_of(0, 4); n > 0; --n) run_.workers.push_back(worker());
        for (auto n = one_of(0, 16); n > 0; --n) run_.attempts.push_back(attempt());
        for (auto n = one_of(0, 2) * 4; n > 0; --n) run_.waiting.push_back(waiting());
        for (auto n = one_of(0, 4); n > 0; --n) run_.samples.push_back({time(), {}});
        for (auto n = one_of(0, 2); n > 0; --n) run_.sessions.push_back({time(), time()});
        std::stable_sort(run_.waiting.begin(), run_.waiting.end(),
                         [](const RunWaiting& a, const RunWaiting& b) { return a.time < b.time; });
        if (is_one_in(5)) forget_what_waited();
        return std::move(run_);
    }

  private:
    std::int64_t one_of(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
    bool is_one_in(std::int64_t n) { return one_of(1, n) == 1; }

    WallMicros time() {
        if (clocks_ == Clocks::jumping) {
            if (is_one_in(10)) return 0;
            if (is_one_in(20)) return one_of(-5, 10'000'000);
            if (is_one_in(50)) return is_one_in(2) ? INT64_MAX : INT64_MIN;
        }
        return one_of(1, most_time);
    }
    // Not before `least`, which it moves there; or 0, not known.
    WallMicros next(WallMicros& least, std::int64_t unknown_one_in = 1'000'000) {
        if (clocks_ == Clocks::jumping) return time();
        if (is_one_in(unknown_one_in)) return 0;
        if (!is_one_in(3)) least += one_of(0, 20);
        return least;
    }

    RunAsk ask() {
        RunAsk ask;
        if (!is_one_in(3)) ask.needs.cores = Count::of_thousandths(one_of(0, 5) * 500);
        if (is_one_in(3)) ask.needs.memory_mb = one_of(0, 40);
        if (is_one_in(4)) ask.needs.disk_mb = one_of(0, 40);
        if (is_one_in(3)) ask.needs.gpus = one_of(1, 2);
        if (is_one_in(6)) ask.needs.coprocesses = 1;
        if (is_one_in(10)) ask.features = "big";
        return ask;
    }

    RunWorker worker() {
        RunWorker worker;
        worker.cores = one_of(0, 6) * 1000;
        worker.memory_mb = one_of(0, 90), worker.disk_mb = one_of(0, 90), worker.gpus = one_of(0, 2) * 1000;
        if (!is_one_in(3)) worker.coprocesses = one_of(0, 2);
        WallMicros at = one_of(1, most_time / 3);
        if (is_one_in(2)) worker.job_started = next(at);
        if (is_one_in(2)) worker.process_started = next(at);
        worker.joined = next(at);
        // Each has a batch job of its own, if the account is to be simple.
        worker.host = "node" + std::to_string(clocks_ == Clocks::sound ? run_.workers.size() : 0);
        if (is_one_in(2)) worker.job = "job";
        if (is_one_in(2)) worker.allocated_cores = one_of(0, 6) * 1000;
        if (!is_one_in(4)) worker.left = time();
        for (auto n = one_of(0, 2) * one_of(0, 2); n > 0; --n)
            worker.changes.push_back({next(at),
                                      static_cast<records::journal::WorkerChange>(
                                          one_of(0, static_cast<int>(records::journal::WorkerChange::left))),
                                      ""});
        return worker;
    }

    RunAttempt attempt() {
        RunAttempt attempt;
        attempt.task = static_cast<std::uint64_t>(one_of(1, 12));
        attempt.attempt = static_cast<std::uint32_t>(one_of(1, 3));
        attempt.is_final = !is_one_in(3);
        attempt.is_accepted = attempt.is_final && !is_one_in(4);
        attempt.ending = static_cast<engine::model::Ending>(one_of(0, engine::model::ending_count - 1));
        attempt.cores =
            static_cast<std::int32_t>(one_of(0, 2) * one_of(0, 3) * 500 + (is_one_in(4) ? 333 : 0));
        attempt.gpus = static_cast<std::int32_t>(one_of(-1, 1) * 1000);
        attempt.memory_mb = one_of(-1, 30), attempt.disk_mb = one_of(-1, 30);
        attempt.memory_peak_mb = one_of(-1, 20);
        attempt.cpu_us = is_one_in(6) ? not_recorded : one_of(0, 60);
        attempt.wall_us = one_of(-1, 80);
        attempt.disk_wait = static_cast<std::int16_t>(one_of(-1, 1) * 333);
        if (!is_one_in(10)) attempt.worker = static_cast<std::uint32_t>(one_of(0, 3));
        if (!is_one_in(4)) attempt.ask = static_cast<std::uint32_t>(one_of(0, 3));
        if (is_one_in(8)) attempt.calls = 7;
        WallMicros at = one_of(1, most_time / 2);
        attempt.submitted = next(at, 5), attempt.ready = next(at, 5), attempt.dispatched = next(at, 8);
        attempt.inputs_there = next(at, 2), attempt.started = next(at, 8), attempt.ended = next(at, 8);
        attempt.outputs_there = next(at, 2), attempt.received = next(at, 8);
        if (attempt.received == 0) attempt.is_accepted = false;
        return attempt;
    }

    RunWaiting waiting() {
        RunWaiting row;
        row.time = time();
        row.tasks = static_cast<std::uint64_t>(one_of(0, 2) * one_of(0, 2));
        if (!is_one_in(3)) row.ask = static_cast<std::uint32_t>(one_of(0, 3));
        row.reason = static_cast<engine::model::WaitReason>(
            one_of(0, static_cast<int>(engine::model::wait_reason_count) - 1));
        return row;
    }

    void forget_what_waited() {
        run_.waiting.clear();
        for (RunAttempt& attempt : run_.attempts) attempt.ready = 0;
    }

    std::mt19937& random_;
    Clocks clocks_;
    RunView run_;
};

inline RunView random_run(std::mt19937& random, Clocks clocks) {
    return RandomRun(random, clocks).result();
}

}  // namespace wq::views::model::testing
