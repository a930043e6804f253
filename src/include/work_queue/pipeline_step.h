// A step of a pipeline (slice_pipeline.h).
#pragma once

namespace [[gnu::visibility("default")]] wq {

template <class T>
class PipelineStep {
  public:
    PipelineStep() = default;
    virtual ~PipelineStep() = default;
    PipelineStep(const PipelineStep&) = delete;
    PipelineStep& operator=(const PipelineStep&) = delete;

    virtual bool next(T& element) = 0;  // false: the end, or stopped
    virtual void remember() = 0;        // restart() will come: before the first next()
    virtual void restart() = 0;         // after the end: gives the same elements again
    virtual void stop() = 0;            // on any thread: next() ends soon, also where it waits
};

}  // namespace gnu::visibility("default")]]wq
