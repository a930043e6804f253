// Passes all records on, and tells the source of shared lists what concerns it: workers that join and leave,
// and ends of its tasks.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "records/recorder/recorder.h"
#include "shared_list/source/shared_source.h"

namespace wq::shared_list::source {

class MarkingRecorder final : public records::recorder::Recorder {
  public:
    explicit MarkingRecorder(std::unique_ptr<records::recorder::Recorder> to) : to_(std::move(to)) {}
    // Null, at first: nobody is told.
    void tell(SharedSource* source) { source_ = source; }

    Wants wants() const override { return to_->wants(); }
    bool wants_beginning(TaskId task) const override { return to_->wants_beginning(task); }
    void task(records::recorder::Recorded ended) override;
    void range(const records::journal::RangeRecord& record) override { to_->range(record); }
    void cancelled(const IntervalSet& tasks, WallMicros when) override { to_->cancelled(tasks, when); }
    void skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) override;
    void worker(const records::journal::WorkerRecord& record) override;
    void sample(const records::journal::Sample& sample) override { to_->sample(sample); }
    void category(CategoryId id, std::string name) override { to_->category(id, std::move(name)); }
    void category_changed(const records::journal::CategoryRecord& record) override {
        to_->category_changed(record);
    }
    void transaction(WallMicros when, std::string text) override { to_->transaction(when, std::move(text)); }
    void write_at_once() override { to_->write_at_once(); }
    std::uint64_t acknowledged() const override { return to_->acknowledged(); }
    std::uint64_t backlog_bytes() const override { return to_->backlog_bytes(); }
    int descriptor() const override { return to_->descriptor(); }
    void settle() override { to_->settle(); }
    std::optional<std::string> trouble() const override { return to_->trouble(); }
    std::vector<std::string> notices() override { return to_->notices(); }
    Status close() override { return to_->close(); }
    Unrecorded unrecorded() const override { return to_->unrecorded(); }

  private:
    std::unique_ptr<records::recorder::Recorder> to_;
    SharedSource* source_ = nullptr;
};

}  // namespace wq::shared_list::source
