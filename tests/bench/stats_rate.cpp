// Rates of the statistics: rows into stats.h5 alone, and CPU time of the whole recorder per task of a run.
// Usage: bench_stats [TASKS]. Prints tab-separated: what, value, unit.
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "records/hdf5/h5_writer.h"
#include "records/hdf5/rows.h"
#include "records/recorder/recorder.h"

namespace {

using namespace wq;

double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

records::recorder::Recorded ended_task(std::uint64_t i) {
    records::recorder::Recorded ended;
    ended.record.task = TaskId(i);
    ended.record.key.value = i * 0x9E3779B97F4A7C15u;
    ended.record.worker = WorkerId(static_cast<std::uint32_t>(i % 4));
    ended.record.line = i + 1;
    ended.record.given = {1, 2000, 0, 0};
    ended.record.submitted_us = 1'700'000'000'000'000;
    ended.record.dispatched_us = ended.record.submitted_us + 1000 + static_cast<std::int64_t>(i);
    ended.record.received_us = ended.record.dispatched_us + 700;
    ended.record.outcome.started_us = ended.record.dispatched_us + 100;
    ended.record.outcome.wall_us = 550;
    ended.record.outcome.user_us = 300;
    ended.record.outcome.system_us = 200;
    ended.record.outcome.peak_memory_kb = 3500;
    ended.record.outcome.stdout_bytes = 20;
    ended.output.out = "output of the task.\n";
    ended.command = "sh -c 'echo output of the task.'";
    return ended;
}

double h5_rows_per_second(const std::string& directory, std::uint64_t rows) {
    auto writer = records::hdf5::H5Writer::create(directory + "/alone.h5", {}).or_throw();
    const records::journal::TaskRecord record = ended_task(1).record;
    const double begin = wall_seconds();
    for (std::uint64_t i = 0; i < rows; ++i) {
        writer.append(records::hdf5::Dataset::tasks, records::hdf5::row_of(record));
        if (i % 65536 == 65535) static_cast<void>(std::move(writer.flush()).or_throw());
    }
    static_cast<void>(std::move(writer.close()).or_throw());
    return double(rows) / (wall_seconds() - begin);
}

// `pause_ms`: after every 30 tasks, to imitate a run; 0: as fast as possible.
void bench_recorder(const std::string& directory, const char* what, std::uint64_t tasks, int pause_ms) {
    const std::string run = directory + "/run" + std::to_string(pause_ms);
    std::filesystem::create_directory(run);
    records::recorder::RecorderOptions options;
    options.run_directory = run;
    auto recorder = records::recorder::open_recorder(options).or_throw();
    const double begin = wall_seconds();
    const double cpu = cpu_seconds();
    for (std::uint64_t i = 0; i < tasks; ++i) {
        recorder->task(ended_task(i));
        if (i % 30 == 29 && pause_ms > 0) ::poll(nullptr, 0, pause_ms);
        while (recorder->backlog_bytes() > (4u << 20)) {
            pollfd written{recorder->descriptor(), POLLIN, 0};
            ::poll(&written, 1, 1000);
            recorder->settle();
        }
    }
    static_cast<void>(std::move(recorder->close()).or_throw());
    const double per_task = (cpu_seconds() - cpu) / double(tasks);
    std::printf("recorder, %s\t%.0f\ttasks/s\n", what, double(tasks) / (wall_seconds() - begin));
    std::printf("recorder, %s\t%.2f\tus CPU a task\n", what, per_task * 1e6);
    std::printf("recorder, %s, of a run of 3000 tasks/s\t%.2f\t%% (goal: <= 2)\n", what,
                per_task * 3000 * 100);
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is measured
    const std::uint64_t tasks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500'000;
    std::string directory = (std::filesystem::temp_directory_path() / "bench_stats_XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr) return 1;
    int code = 0;
    try {
        double best = 0;
        for (int turn = 0; turn < 3; ++turn) best = std::max(best, h5_rows_per_second(directory, 2 * tasks));
        std::printf("rows into stats.h5, best of 3\t%.2f\tM/s (goal: >= 1)\n", best / 1e6);
        bench_recorder(directory, "at full speed", tasks, 0);
        bench_recorder(directory, "at 30 tasks in 10 ms", tasks / 50, 10);
    } catch (const wq::Failure& failure) {
        std::fprintf(stderr, "bench_stats: %s\n", failure.error.message.c_str());
        code = to_int(failure.error.code);
    }
    std::filesystem::remove_all(directory);
    return code;
}
