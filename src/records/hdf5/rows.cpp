#include "records/hdf5/rows.h"

#include <algorithm>
#include <array>
#include <limits>

#include "records/journal/records.h"

namespace wq::records::hdf5 {

namespace {

std::uint32_t count(std::int64_t value) {
    constexpr auto most = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, most));
}

void fill_measured(TaskRow& row, const engine::model::Outcome& outcome) {
    const std::optional<engine::model::Measured>& measured = outcome.measured;
    const engine::model::Usage usage = measured ? measured->usage : engine::model::Usage{};
    const std::int64_t cores = engine::model::busy_cores(outcome);
    row.cores_peak = cores < 0 ? -1 : static_cast<double>(cores) / 1000;
    row.memory_peak = usage.memory;
    row.disk_peak = usage.disk;
    row.bytes_received = usage.bytes_received;
    row.bytes_sent = usage.bytes_sent;
    row.files = usage.files;
    row.processes = usage.processes;
    row.exceeded = -1;
    row.disk_wait = -1;
    if (!measured) return;
    if (measured->disk_wait >= 0)
        row.disk_wait = static_cast<std::int32_t>(std::min<std::int64_t>(measured->disk_wait, 1000));
    const engine::model::Sizes& exceeded = measured->exceeded;
    row.exceeded =
        (exceeded.cores >= 0 ? 1 : 0) + (exceeded.memory_mb >= 0 ? 2 : 0) + (exceeded.disk_mb >= 0 ? 4 : 0);
}

// Columns common to rows of attempts and of ranges.
template <class Record>
TaskRow begin_row(const Record& record) {
    TaskRow row;
    row.worker = record.worker.value();
    row.category = record.category.value();
    row.given_cores = record.given.cores.as_double();
    row.given_gpus = record.given.gpus.as_double();
    row.given_memory = record.given.memory_mb;
    row.given_disk = record.given.disk_mb;
    row.received = record.received_us;
    fill_measured(row, engine::model::Outcome{});
    return row;
}

}  // namespace

TaskRow row_of(const journal::TaskRecord& record) {
    const engine::model::Outcome& outcome = record.outcome;
    TaskRow row = begin_row(record);
    row.task = static_cast<std::int64_t>(journal::task_number(record.task));
    row.key = record.key.value;
    row.line = static_cast<std::int64_t>(record.line);
    row.attempt = record.attempt;
    row.exit_code = outcome.exit_code;
    row.signal = static_cast<std::uint16_t>(outcome.signal);
    row.ending = outcome.ending;
    row.final = record.final ? Flag::yes : Flag::no;
    row.calls = 1;
    row.submitted = record.submitted_us;
    row.dispatched = record.dispatched_us;
    row.started = outcome.started_us;
    row.wall = outcome.wall_us;
    row.user = outcome.user_us;
    row.system = outcome.system_us;
    row.peak_memory = outcome.peak_memory_kb;
    row.bytes_read = outcome.bytes_read;
    row.bytes_written = outcome.bytes_written;
    row.stdout_bytes = outcome.stdout_bytes;
    row.stderr_bytes = outcome.stderr_bytes;
    row.ready = record.ready_us;
    row.inputs_there = outcome.files.inputs_there_us;
    row.ended = std::max<WallMicros>(outcome.started_us, 0);
    if (row.ended > 0) engine::model::add_bounded(row.ended, outcome.wall_us);
    row.outputs_there = outcome.files.outputs_there_us;
    row.ask = record.ask.value();
    fill_measured(row, outcome);
    return row;
}

TaskRow row_of(const journal::RangeRecord& record) {
    TaskRow row = begin_row(record);
    row.key = record.tasks.front()->first;
    row.task = static_cast<std::int64_t>(journal::task_number(TaskId(row.key)));
    row.attempt = 1;
    row.final = Flag::yes;
    row.calls = count(static_cast<std::int64_t>(record.tasks.count()));
    row.started = record.started_us;
    row.wall = record.wall_us;
    row.user = record.user_us;
    row.system = record.system_us;
    row.peak_memory = record.peak_memory_kb;
    return row;
}

WorkerRow row_of(const journal::WorkerRecord& record) {
    WorkerRow row;
    row.worker = record.worker.value();
    row.rank = record.rank;
    row.cores = count(record.offers.cores.rounded_down());
    row.gpus = count(record.offers.gpus.rounded_down());
    row.memory = record.offers.memory_mb;
    row.disk = record.offers.disk_mb;
    row.joined = record.joined_us;
    row.left = record.left_us;
    row.tasks_done = record.tasks_done;
    row.host = record.host;
    row.address = record.address;
    row.why_left = record.why_left;
    row.process_started = record.process_started_us;
    row.job_started = record.job_started_us;
    row.job_ends = record.job_ends_us;
    row.allocated_cores = record.allocated_cores;
    row.job = record.job;
    return row;
}

ManagerRow row_of(const journal::Sample& sample) {
    ManagerRow row;
    row.timestamp = sample.time_us;
    row.time_when_started = sample.stats.time_when_started;
#define WQ_COPY(type, name, unit, meaning) row.name = sample.stats.name;
    WQ_MANAGER_STATS(WQ_COPY)
    WQ_OWN_STATS(WQ_COPY)
#undef WQ_COPY
#define WQ_COPY(type, name, of, unit, meaning) row.name = sample.stats.of;
    WQ_MANAGER_ALIASES(WQ_COPY)
#undef WQ_COPY
    return row;
}

CategoryRow row_of(const journal::CategoryRecord& record) {
    const auto count = [](std::int64_t size) {
        return size < 0 ? static_cast<double>(size) : static_cast<double>(size) / 1000;
    };
    CategoryRow row;
    row.category = record.category.value();
    row.changed = record.changed_us;
    row.max_cores = count(record.max.cores), row.max_gpus = count(record.max.gpus);
    row.max_memory = record.max.memory_mb, row.max_disk = record.max.disk_mb;
    row.first_cores = count(record.first.cores), row.first_gpus = count(record.first.gpus);
    row.first_memory = record.first.memory_mb, row.first_disk = record.first.disk_mb;
    row.min_cores = count(record.min.cores), row.min_gpus = count(record.min.gpus);
    row.min_memory = record.min.memory_mb, row.min_disk = record.min.disk_mb;
    row.mode = name_of(record.mode);
    row.name = record.name;
    return row;
}

AskRow row_of(const journal::AskRecord& record) {
    const auto amount = [](Count count) { return count < 0 ? -1 : count.as_double(); };
    AskRow row;
    row.ask = record.ask.value();
    row.coprocesses = count(record.needs.coprocesses);
    row.cores = amount(record.needs.cores);
    row.gpus = amount(record.needs.gpus);
    row.memory = record.needs.memory_mb;
    row.disk = record.needs.disk_mb;
    std::string features;
    for (const std::string& feature : record.features) features += (features.empty() ? "" : ",") + feature;
    row.features = features;
    return row;
}

WorkerChangeRow row_of(const journal::WorkerChangeRecord& record) {
    WorkerChangeRow row;
    row.time = record.time_us;
    row.worker = record.worker.value();
    row.change = std::string_view(name_of(record.change));
    row.why = record.why;
    return row;
}

WaitingRow row_of(const journal::WaitingRecord& record) {
    WaitingRow row;
    row.time = record.time_us;
    row.tasks = record.tasks;
    row.ask = record.ask.value();
    row.reason = std::string_view(name_of(record.reason));
    return row;
}

TaskRow blank_task_row() {
    TaskRow row;
    fill_measured(row, engine::model::Outcome{});
    return row;
}

CategoryRow row_of(CategoryId category, std::string_view name, WallMicros now) {
    journal::CategoryRecord record{category, std::string(name)};
    record.changed_us = now;
    return row_of(record);
}

CategoryRow blank_category_row() {
    CategoryRow row = row_of(journal::CategoryRecord{});
    row.mode = {};
    return row;
}

}  // namespace wq::records::hdf5
