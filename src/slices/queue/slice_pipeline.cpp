#include "work_queue/slice_pipeline.h"

#include <atomic>

#include "base/quiet_thread.h"
#include "slices/queue/slice_feed.h"
#include "work_queue/slice_readers.h"

namespace wq {

namespace {

constexpr std::size_t lines_at_once = 1000;

// The first step: lines of slices as they are taken, and then of the same slices again.
class Lines final : public PipelineStep<std::string> {
  public:
    explicit Lines(SliceProducer slices) : slices_(std::move(slices)) {}

    bool next(std::string& line) override {
        while (given_ == lines_.size()) {
            if (stopped_) return false;
            given_ = 0;
            lines_ = reader_.read_up_to(lines_at_once).values;
            if (lines_.empty() && !open_next()) return false;
        }
        line.assign(lines_[given_++]);
        return !stopped_;
    }
    void remember() override { remembers_ = true; }
    void restart() override { again_ = 0; }
    void stop() override {
        stopped_ = true;
        slices_.stop();
    }

  private:
    bool open_next() {
        if (again_) {
            if (*again_ == taken_.size()) return false;
            reader_.open(slices_, taken_[(*again_)++]);
            return true;
        }
        const auto slice = slices_.next();
        if (!slice) return false;
        reader_.open(slices_, *slice);
        if (remembers_) taken_.push_back(*slice);
        return true;
    }

    SliceProducer slices_;
    LineReader reader_;
    RecordValues lines_;
    std::size_t given_ = 0;  // of lines_
    bool remembers_ = false;
    std::vector<Slice> taken_;
    std::optional<std::size_t> again_;  // the next of these
    std::atomic<bool> stopped_ = false;
};

}  // namespace

std::thread ReadAheadThread::start(std::function<void()> work) {
    return quiet_thread(std::move(work));
}

Pipeline<std::string> lines(SliceProducer slices) {
    return Pipeline<std::string>(std::make_unique<Lines>(std::move(slices)));
}
Pipeline<std::string> lines(const SliceQueue::Dataset& slices) {
    return lines(slices.queue().input_producer());
}

}  // namespace wq
