// Hands slices of datasets to the ranks of an MPI job, epoch after epoch, so that fast ranks take more and
// slow ones less, and nobody waits for the slowest. After DeepRec's WorkQueue.
//
//   int main() {
//       wq::MpiSession mpi;  // first
//       wq::SliceQueue slices(mpi, {"a.txt", "b.txt", "c.txt"}, {.num_epochs = 2});
//       while (const auto slice = slices.take()) train_on(slice->text());
//   }
//
// In each epoch every slice is taken by one rank. A slice is done ("committed") when its rank takes the next
// one. If a rank is lost, others take the slices that it had not committed.
//
// Ranks of a node claim from memory that they share; rank 0 refills it over TCP, in a thread of its own. So
// MPI is used only to begin, and a rank that is killed at any moment blocks nobody. Rank 0 must live.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "work_queue/error.h"

namespace [[gnu::visibility("default")]] wq {

class MpiSession;

enum class Delivery {
    exactly_once,   // what a lost rank had not committed is taken again
    at_most_once,   // never again: what a lost rank had is lost, and the end waits for nobody
    at_least_once,  // as exactly once, but at the end, ranks without work also take what others still have:
                    // no slow rank holds up the rest, at the price of some slices that are done twice
};

struct SliceOptions {
    std::int64_t num_epochs = 1;  // how often each slice is given
    bool shuffle = true;          // each epoch in an order of its own; otherwise in that of `works`
    std::optional<std::uint64_t>
        seed{};            // equal seeds: equal orders, on any number of ranks; none: rank 0 draws one
    std::string prefix{};  // stands before the name of each work that is taken
    // How many slices in all, in proportion to the works' records; none: each work is one slice. Best at
    // least 10 for each rank.
    std::optional<std::int64_t> num_slices{};
    bool num_slices_per_work = false;  // so many of each work, as DeepRec cuts
    // The number of a work's records; nullopt: it is one slice. Called on all ranks, with num_slices only.
    // Empty: the rows of HDF5 datasets ("FILE.h5:/path") are counted, and other works are one slice.
    std::function<std::optional<std::uint64_t>(const std::string& work)> records{};
    Delivery delivery = Delivery::exactly_once;
    bool commit_by_hand = false;  // take() commits nothing
    std::string name = "work_queue";
    // Receives lines for the user, on any thread; empty: stderr. It must not throw.
    std::function<void(const std::string&)> say{};
};

struct Slice {
    std::string work;                      // with the prefix
    std::optional<std::uint64_t> start{};  // first record; none: the whole work
    std::optional<std::uint64_t> end{};    // one past the last
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;  // in the order of all epochs: its identity

    std::string text() const;  // "WORK?start=A&end=B", or the work
    bool operator==(const Slice&) const = default;
};

class SliceQueue {
  public:
    // For this process alone. Throws SetupError: no works, an empty name, num_epochs or num_slices below 1,
    // more slices than records.
    explicit SliceQueue(std::vector<std::string> works, SliceOptions options = {});
    // Collective over the session's ranks, with equal works and options. The session must outlive it, and has
    // no Manager meanwhile. Throws SetupError on all ranks, also if rank 0 cannot open a port or be reached.
    SliceQueue(MpiSession& session, std::vector<std::string> works, SliceOptions options = {});
    // What was taken and not committed goes to other ranks. Rank 0 waits for the others' SliceQueues to end.
    ~SliceQueue();
    SliceQueue(const SliceQueue&) = delete;
    SliceQueue& operator=(const SliceQueue&) = delete;

    // The next slice; nullopt: all slices of all epochs are committed. Waits if the rest is with other ranks,
    // since they may be lost. Commits what this rank took before. Any thread may call it. Throws
    // std::runtime_error if rank 0 is lost.
    std::optional<Slice> take();
    // With commit_by_hand. Returns whether it was taken here, and not committed before.
    bool commit(const Slice& slice);

    std::uint64_t size() const;  // slices of one epoch
    std::uint64_t seed() const;
    std::uint64_t taken() const;  // by this rank

    // The slices of take() as an input range: for (const wq::Slice& slice : slices.input_dataset()) ...
    class Dataset;
    Dataset input_dataset();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

class SliceQueue::Dataset {
  public:
    class iterator {
      public:
        using value_type = Slice;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;
        explicit iterator(SliceQueue& queue) : queue_(&queue), slice_(queue.take()) {}
        const Slice& operator*() const { return *slice_; }
        const Slice* operator->() const { return &*slice_; }
        iterator& operator++() {
            slice_ = queue_->take();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return !slice_; }

      private:
        SliceQueue* queue_;
        std::optional<Slice> slice_;
    };

    explicit Dataset(SliceQueue& queue) : queue_(&queue) {}
    iterator begin() const { return iterator(*queue_); }  // takes the first
    std::default_sentinel_t end() const { return {}; }

  private:
    SliceQueue* queue_;
};

inline SliceQueue::Dataset SliceQueue::input_dataset() {
    return Dataset(*this);
}

}  // namespace gnu::visibility("default")]]wq
