// The step of a pipeline that reads ahead (slice_pipeline.h).
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "work_queue/pipeline_step.h"
#include "work_queue/read_ahead.h"

namespace [[gnu::visibility("default")]] wq {

template <class T>
class PipelinePrefetch final : public PipelineStep<T> {
  public:
    PipelinePrefetch(std::unique_ptr<PipelineStep<T>> from, std::size_t ahead)
        : from_(std::move(from)), ahead_(ahead, [this](T& element) { return from_->next(element); }) {}
    ~PipelinePrefetch() override { stop(); }

    // The thread starts here, since what it reads may not be restarted before.
    bool next(T& element) override { return ahead_.next(element); }
    void remember() override { from_->remember(); }
    void restart() override {
        ahead_.restart();  // it has ended
        from_->restart();
    }
    void stop() override {
        ahead_.stop();
        from_->stop();
    }

  private:
    std::unique_ptr<PipelineStep<T>> from_;
    ReadAhead<T> ahead_;
};

}  // namespace gnu::visibility("default")]]wq
