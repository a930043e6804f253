// A recorder without files or threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/recorder/recorder.h"

namespace wq::testing {

// Keeps all records in memory.
class FakeRecorder final : public records::recorder::Recorder {
  public:
    void task(records::recorder::Recorded ended) override { waiting_.push_back(std::move(ended)); }
    void worker(const records::journal::WorkerRecord& record) override { workers_.push_back(record); }
    void sample(const records::journal::Sample&) override {}
    void ask(const records::journal::AskRecord& record) override { asks_.push_back(record); }
    void worker_changed(const records::journal::WorkerChangeRecord& record) override {
        worker_changes_.push_back(record);
    }
    void waiting(const records::journal::WaitingRecord& record) override { waits_.push_back(record); }
    void category(CategoryId, std::string) override {}
    void transaction(WallMicros, std::string) override {}
    void write_at_once() override { hurried_ = true; }
    std::uint64_t acknowledged() const override { return written_.size(); }
    std::uint64_t backlog_bytes() const override { return backlog_; }
    int descriptor() const override { return -1; }
    void settle() override {}
    std::optional<std::string> trouble() const override { return trouble_; }
    std::vector<std::string> notices() override { return {}; }
    Status close() override { return success(); }
    Unrecorded unrecorded() const override { return {}; }

    // Moves pending records to the journal, unless it is in trouble.
    void write() {
        if (trouble_) return;
        for (records::recorder::Recorded& ended : waiting_) written_.push_back(std::move(ended));
        waiting_.clear();
    }
    void set_trouble(bool trouble) {
        trouble_ = trouble ? std::optional<std::string>("disk full") : std::nullopt;
    }
    void set_backlog(std::uint64_t bytes) { backlog_ = bytes; }
    bool hurried() const { return hurried_; }
    const std::vector<records::recorder::Recorded>& written() const { return written_; }
    const std::vector<records::journal::WorkerRecord>& workers() const {
        return workers_;
    }  // all that were recorded
    const std::vector<records::journal::AskRecord>& asks() const { return asks_; }
    const std::vector<records::journal::WorkerChangeRecord>& worker_changes() const {
        return worker_changes_;
    }
    const std::vector<records::journal::WaitingRecord>& waits() const { return waits_; }

  private:
    std::vector<records::recorder::Recorded> waiting_;
    std::vector<records::recorder::Recorded> written_;
    std::vector<records::journal::WorkerRecord> workers_;
    std::vector<records::journal::AskRecord> asks_;
    std::vector<records::journal::WorkerChangeRecord> worker_changes_;
    std::vector<records::journal::WaitingRecord> waits_;
    std::optional<std::string> trouble_;
    std::uint64_t backlog_ = 0;
    bool hurried_ = false;
};

}  // namespace wq::testing
