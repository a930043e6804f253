// A pipeline over the lines of slices, as TensorFlow's datasets have it:
//
//   wq::SliceQueue slices(mpi, {"a.txt", "b.txt"});
//   for (const std::vector<std::string>& lines :
//        wq::lines(slices.input_dataset()).shuffle(20000, 2021).batch(512).prefetch(1))
//       train_on(lines);
//
// Each step is an input range that is read once, and reads its elements from the step before when it is asked
// for one. A pipeline is moved from step to step; the SliceQueue must outlive it. It may be destroyed at any
// moment, and does not wait for other ranks then.
//
// A slice is committed when the first step has read its lines and takes the next. So if a rank is lost, lines
// are lost that its later steps still had: at most as many as they buffer. Who cannot have that reads slices
// by a LineReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "work_queue/pipeline_prefetch.h"
#include "work_queue/pipeline_step.h"
#include "work_queue/slice_queue.h"

namespace [[gnu::visibility("default")]] wq {

template <class T>
class PipelineShuffle final : public PipelineStep<T> {
  public:
    PipelineShuffle(std::unique_ptr<PipelineStep<T>> from, std::size_t size, std::uint64_t seed)
        : from_(std::move(from)), size_(size), random_(seed) {}
    bool next(T& element) override {
        T more;
        while (!ended_ && buffer_.size() < size_) {
            if (from_->next(more))
                buffer_.push_back(std::move(more));
            else
                ended_ = true;
        }
        if (buffer_.empty()) return false;
        // Not std::uniform_int_distribution: each library has its own.
        std::swap(buffer_[random_() % buffer_.size()], buffer_.back());
        element = std::move(buffer_.back());
        buffer_.pop_back();
        return true;
    }
    void remember() override { from_->remember(); }
    void restart() override {
        from_->restart();
        ended_ = false;
    }
    void stop() override { from_->stop(); }

  private:
    std::unique_ptr<PipelineStep<T>> from_;
    std::size_t size_;
    std::mt19937_64 random_;
    std::vector<T> buffer_;
    bool ended_ = false;
};

template <class T>
class PipelineRepeat final : public PipelineStep<T> {
  public:
    PipelineRepeat(std::unique_ptr<PipelineStep<T>> from, std::uint64_t times)
        : from_(std::move(from)), times_(times) {
        if (times > 1) from_->remember();
    }
    bool next(T& element) override {
        while (time_ <= times_) {
            if (from_->next(element)) return true;
            if (time_++ < times_) from_->restart();
        }
        return false;
    }
    void remember() override { from_->remember(); }
    void restart() override {
        from_->restart();
        time_ = 1;
    }
    void stop() override { from_->stop(); }

  private:
    std::unique_ptr<PipelineStep<T>> from_;
    std::uint64_t times_;
    std::uint64_t time_ = 1;
};

template <class T>
class PipelineBatch final : public PipelineStep<std::vector<T>> {
  public:
    PipelineBatch(std::unique_ptr<PipelineStep<T>> from, std::size_t size)
        : from_(std::move(from)), size_(size) {}
    // What the step before throws comes after the elements before it.
    bool next(std::vector<T>& batch) override {
        if (const auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
        batch.resize(size_);
        std::size_t count = 0;
        try {
            while (count < size_ && from_->next(batch[count])) ++count;
        } catch (...) {
            if (count == 0) throw;
            failure_ = std::current_exception();
        }
        batch.resize(count);
        return count > 0;
    }
    void remember() override { from_->remember(); }
    void restart() override { from_->restart(); }
    void stop() override { from_->stop(); }

  private:
    std::unique_ptr<PipelineStep<T>> from_;
    std::size_t size_;
    std::exception_ptr failure_;
};

template <class T>
class Pipeline {
  public:
    explicit Pipeline(std::unique_ptr<PipelineStep<T>> last) : last_(std::move(last)) {}

    // Gives the elements in random order: each is drawn from a buffer of so many, which is then filled again.
    // Equal seeds give equal orders of equal elements; none: one is drawn. A repetition has another order.
    Pipeline shuffle(std::size_t buffer_size, std::optional<std::uint64_t> seed = {}) && {
        at_least_one("shuffle", buffer_size);
        return Pipeline(std::make_unique<PipelineShuffle<T>>(std::move(last_), buffer_size,
                                                             seed ? *seed : std::random_device()()));
    }
    // Gives all elements that this rank has read so many times, by reading the same slices again. Epochs of
    // the data are SliceOptions::num_epochs; what is repeated here, no other rank takes over if this one is
    // lost.
    Pipeline repeat(std::uint64_t times) && {
        at_least_one("repeat", times);
        return Pipeline(std::make_unique<PipelineRepeat<T>>(std::move(last_), times));
    }
    // Vectors of so many elements; the last may have fewer.
    Pipeline<std::vector<T>> batch(std::size_t size) && {
        at_least_one("batch", size);
        return Pipeline<std::vector<T>>(std::make_unique<PipelineBatch<T>>(std::move(last_), size));
    }
    // Reads so many elements ahead, on a thread of its own. What the steps before throw comes after the
    // elements before it.
    Pipeline prefetch(std::size_t ahead) && {
        at_least_one("prefetch", ahead);
        return Pipeline(std::make_unique<PipelinePrefetch<T>>(std::move(last_), ahead));
    }

    // The next element; nullopt: the end. Throws std::runtime_error as SliceReader::read_up_to() does.
    std::optional<T> next() {
        std::optional<T> element(std::in_place);
        if (!last_->next(*element)) element.reset();
        return element;
    }

    class iterator {
      public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;
        explicit iterator(PipelineStep<T>& last) : last_(&last) { ++*this; }
        T& operator*() const { return element_; }
        iterator& operator++() {
            ended_ = !last_->next(element_);
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return ended_; }

      private:
        PipelineStep<T>* last_;
        mutable T element_;
        bool ended_ = false;
    };
    iterator begin() { return iterator(*last_); }  // reads the first
    std::default_sentinel_t end() const { return {}; }

  private:
    static void at_least_one(const char* step, std::uint64_t number) {
        if (number == 0) throw std::invalid_argument(std::string(step) + "(0); it is at least 1");
    }
    std::unique_ptr<PipelineStep<T>> last_;
};

// The lines of the slices that this rank takes. With a producer, as many slices are claimed ahead as it says;
// a dataset claims one ahead.
Pipeline<std::string> lines(SliceProducer slices);
Pipeline<std::string> lines(const SliceQueue::Dataset& slices);

}  // namespace gnu::visibility("default")]]wq
