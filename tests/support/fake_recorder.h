// A recorder without files or threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/recorder.h"

namespace wq::testing {

// Keeps what it is told, in memory.
class FakeRecorder final : public stats::Recorder {
  public:
    void task(stats::Recorded ended) override { waiting_.push_back(std::move(ended)); }
    void worker(const stats::WorkerRecord& record) override { workers_.push_back(record); }
    void sample(const stats::Sample&) override {}
    void category(CategoryId, std::string) override {}
    void transaction(WallMicros, std::string) override {}
    std::uint64_t acknowledged() const override { return written_.size(); }
    std::uint64_t backlog_bytes() const override { return 0; }
    int descriptor() const override { return -1; }
    void settle() override {}
    std::optional<std::string> trouble() const override { return trouble_; }
    std::vector<std::string> notices() override { return {}; }
    Status close() override { return success(); }
    Unrecorded unrecorded() const override { return {}; }

    // What waits is in the journal now, unless there is trouble.
    void write() {
        if (trouble_) return;
        for (stats::Recorded& ended : waiting_) written_.push_back(std::move(ended));
        waiting_.clear();
    }
    void set_trouble(bool trouble) {
        trouble_ = trouble ? std::optional<std::string>("disk full") : std::nullopt;
    }
    const std::vector<stats::Recorded>& written() const { return written_; }
    const std::vector<stats::WorkerRecord>& workers() const { return workers_; }  // all that it was told

  private:
    std::vector<stats::Recorded> waiting_;
    std::vector<stats::Recorded> written_;
    std::vector<stats::WorkerRecord> workers_;
    std::optional<std::string> trouble_;
};

}  // namespace wq::testing
