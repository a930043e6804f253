// Common to these tests: a temporary directory, and distinct records.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "records/journal/records.h"
#include "support/folder.h"

namespace wq::records::journal::testing {

class TempDir : public test::Folder {
  public:
    std::string file(const std::string& name) const { return *this / name; }
};

inline journal::TaskRecord record_number(std::uint64_t i) {
    journal::TaskRecord record;
    record.task = TaskId(i);
    record.key.value = i * 0x9E3779B97F4A7C15u + 1;
    record.attempt = static_cast<Attempt>(1 + i % 3);
    record.final = i % 5 != 4;
    record.worker = WorkerId(static_cast<std::uint32_t>(i % 4));
    record.line = i + 10;
    record.category = CategoryId(static_cast<std::uint32_t>(i % 2));
    record.given = {2, 512, 100, static_cast<std::int64_t>(i % 2)};
    record.submitted_us = 1'700'000'000'000'000 + static_cast<std::int64_t>(i);
    record.dispatched_us = record.submitted_us + 10;
    record.received_us = record.submitted_us + 1000;
    record.outcome.ending = i % 7 == 3 ? engine::model::Ending::signalled : engine::model::Ending::exited;
    record.outcome.exit_code = i % 11 == 5 ? 3 : 0;
    record.outcome.signal = i % 7 == 3 ? 11 : 0;
    record.outcome.started_us = record.submitted_us + 20;
    record.outcome.wall_us = 900;
    record.outcome.user_us = 500;
    record.outcome.system_us = 100;
    record.outcome.peak_memory_kb = 3456;
    record.outcome.stdout_bytes = 5;
    record.outcome.reason = i % 7 == 3 ? "segmentation fault" : "";
    return record;
}

inline journal::WorkerRecord worker_number(std::uint32_t i) {
    journal::WorkerRecord record;
    record.worker = WorkerId(i);
    record.host = "node" + std::to_string(i);
    record.address = "node" + std::to_string(i) + ":rank " + std::to_string(i);
    record.rank = i;
    record.offers = {4, 8000, 50000, 1};
    record.joined_us = 1'700'000'000'000'000;
    return record;
}

inline journal::Sample sample_number(std::int64_t i) {
    journal::Sample sample;
    sample.time_us = 1'700'000'000'000'000 + i * 1'000'000;
    sample.stats.time_when_started = 1'700'000'000'000'000;
    sample.stats.workers_connected = 4;
    sample.stats.tasks_done = i;
    sample.stats.bandwidth = 1.5;
    return sample;
}

}  // namespace wq::records::journal::testing
