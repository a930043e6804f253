// Gives slices of datasets to the ranks of an MPI job, epoch after epoch, so that fast ranks take more and
// slow ones less. After DeepRec's WorkQueue.
//
//   int main() {
//       wq::MpiSession mpi;  // first
//       wq::SliceQueue slices(mpi, {"a.txt", "b.txt", "c.txt"}, {.num_epochs = 2});
//       while (const auto slice = slices.take()) train_on(slice->text());
//   }
//
// In each epoch every slice is committed once. A slice is committed when its rank takes the next one. If a
// rank is lost, others take the slices whose commit rank 0 has not heard of: ranks tell their commits every
// 100 ms.
//
// Ranks of a node claim slices from shared memory, which rank 0 refills over TCP in a separate thread, or
// which is refilled through rank 0's MPI window (SliceTickets). Otherwise MPI is used only to begin, and a
// process that is killed at any moment blocks nobody; a host that vanishes is missed after 10 s. Rank 0 must
// live. Ranks must not wait for each other between takes, as in an allreduce: at the end, take() waits for
// other ranks' slices, but not with Delivery::at_most_once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "work_queue/error.h"

namespace [[gnu::visibility("default")]] wq {

class MpiSession;

enum class Delivery {
    exactly_once,   // what a lost rank had not committed is taken again
    at_most_once,   // never again: what a lost rank had is lost, and the end waits for nobody
    at_least_once,  // as exactly once, but at the end, nodes without work also take what ranks of other nodes
                    // still have, at the price of some slices that are done twice
};

struct SliceSummaryOptions {
    // At least one of these. An HDF5 file, which work_queue_graph_log draws, also while it is written; an
    // earlier one is renamed. A folder for an event file of TensorBoard: NAME/fraction_left and so on, over
    // what is committed.
    std::string hdf5{};
    std::string tensorboard{};
    double interval = 1;  // seconds between samples
};

// How a node gets its next slices from rank 0. The ranks of rank 0's node ask by message in any case.
enum class SliceTickets {
    // As rma if all of this holds: the session's start has found it clearly faster; and MPI granted
    // MPI_THREAD_MULTIPLE, or only_mpi_caller is set. Otherwise as message.
    automatic,
    // From a counter in rank 0's MPI window, if this MPI has one between nodes; otherwise as message, and
    // `say` gets the reason. The queue's thread calls MPI on each rank. So unless MPI granted
    // MPI_THREAD_MULTIPLE, the program must not call MPI, or open another queue, while this one lives. With
    // Open MPI's osc/rdma and osc/sm, a rank that is killed inside the call may hang the others.
    rma,
    message,  // over TCP
};

struct SliceOptions {
    std::int64_t num_epochs = 1;  // passes over the data
    bool shuffle = true;          // reshuffle in each epoch; false: keep the order of `works`
    std::optional<std::uint64_t>
        seed{};  // of the shuffle; equal seeds give equal orders, on any number of ranks; none: random
    std::string prefix{};  // text to put before the name of each work that is taken
    // Number of slices in total, in proportion to the works' records; none: each work is one slice. Use at
    // least 10 slices for each rank. The rows of HDF5 datasets ("FILE.h5:/path") are cut; other works are one
    // slice, unless one of the next three is set.
    std::optional<std::int64_t> num_slices{};
    bool num_slices_per_work = false;  // cut each work into num_slices slices, as DeepRec does
    // Works are text files, cut at line ends. The ranks count the lines together: each reads a part.
    bool lines = false;
    std::uint64_t record_bytes = 0;  // works are files of binary records of this size, cut between records
    // Works are of your own kind: the number of a work's records; nullopt: it is one slice. Called on all
    // ranks, with num_slices only.
    std::function<std::optional<std::uint64_t>(const std::string& work)> records{};
    // Whether works without "://" must be there. None: yes if one has a '/' or is there, as if they are
    // files; no with `records`. Works that are cut must be there in any case.
    std::optional<bool> must_exist{};
    Delivery delivery = Delivery::exactly_once;
    bool commit_by_hand = false;  // take() commits nothing
    // A file of save(), to resume from; empty: start anew. The value of rank 0 holds for all ranks.
    std::string restore{};
    // Summaries also get a row for each slice: who committed it, when it was taken, and when committed. Kept
    // in memory until add_summary(). Not with at_most_once.
    bool record_each = false;
    SliceTickets tickets = SliceTickets::automatic;
    bool only_mpi_caller = false;  // the program itself does not call MPI while the queue lives
    std::string name = "work_queue";
    // A file, written with mode 0600 while the queue lives, by which workers elsewhere find it and prove
    // that they may take slices (SliceWorkerOptions); empty: there are none. Of rank 0, or of a process
    // alone.
    std::string contact{};
    // Writes statistics from the beginning, as add_summary() does; if they cannot be written, no rank begins.
    SliceSummaryOptions summary{};
    // Receives lines for the user, on any thread; empty: stderr. It must not throw.
    std::function<void(const std::string&)> say{};
};

// A process that is no rank of the job takes slices, too, as its worker: over TCP, from anywhere.
struct SliceWorkerOptions {
    // The file that the queue's program writes (SliceOptions::contact): it has the address and the key.
    std::string contact{};
    double wait = 60;  // seconds to wait for the file and for the queue's answer
    bool commit_by_hand = false;
    // No: take() returns the end once all slices are given. Whoever asks several workers in turn, and waits
    // for each, needs this: one that waits for another's slice would wait for ever.
    bool wait_for_others = true;
    std::function<void(const std::string&)> say{};  // as of SliceOptions
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

class SliceProducer;
class SliceFeed;  // of our own

class SliceQueue {
  public:
    // For this process alone. Throws SetupError: no works, an empty name, num_epochs or num_slices below 1,
    // more slices than records, works that are missing (all are named) or cannot be counted, such as binary
    // files with a part of a record.
    explicit SliceQueue(std::vector<std::string> works, SliceOptions options = {});
    // Collective over the session's ranks, with equal works and options. The session must outlive it, and has
    // no Manager. Throws SetupError on all ranks, also for what one of them finds wrong, such as an exception
    // of `records`.
    SliceQueue(MpiSession& session, std::vector<std::string> works, SliceOptions options = {});
    // A worker of a queue elsewhere. Works are read here if they are the same files (equal size, time of
    // change and some of their bytes, as on a shared file system); otherwise readers get their records from
    // the queue's process, up to 256 MiB each. Throws SetupError: no contact file or queue in time (69), a
    // key that does not fit, or a contact file that others can read (77).
    static SliceQueue as_worker(const SliceWorkerOptions& options);
    // What was taken and not committed goes to other ranks. Rank 0 waits for the SliceQueues of others that
    // are there to end.
    ~SliceQueue();
    SliceQueue(const SliceQueue&) = delete;
    SliceQueue& operator=(const SliceQueue&) = delete;

    // The next slice; nullopt: all slices of all epochs are committed (at most once: taken). Waits for those
    // that other ranks have, since these may be lost. Unless commit_by_hand, commits what take() gave before:
    // a rank with several threads commits by hand. Throws std::runtime_error if rank 0 is lost.
    std::optional<Slice> take();
    // The same, but waits for at most so long. nullopt also: none has come in that time; before it is over:
    // the end.
    std::optional<Slice> take_at_most(std::chrono::nanoseconds limit);
    // Takes nothing: waits until others have committed all slices, as in a program that gives slices to
    // workers only. Throws std::runtime_error if rank 0 is lost.
    void wait();
    bool wait_at_most(std::chrono::nanoseconds limit);  // false: there are slices left
    // Requested when rank 0 is lost, on a thread of the queue: others will be given what was taken here, a
    // second later or more (unless this process itself was held up). take() throws then.
    std::stop_token lost() const;
    // With commit_by_hand. Returns false if it was not taken here, is committed, rank 0 is lost, or delivery
    // is at_most_once.
    bool commit(const Slice& slice);
    // The same for a slice whose work was in vain: this queue does not give it again, but it is counted,
    // marked in summaries, and left out by save().
    bool commit_failed(const Slice& slice);
    // How many slices were committed like that. On rank 0: by all ranks, as far as they have told it; with
    // exactly_once all, once take() has returned the end. On other ranks: their own.
    std::uint64_t failed() const;

    // On rank 0: writes to `path` what all ranks have committed when it is called. Of a lost rank, commits of
    // its last 100 ms may be missing. The file is HDF5, and replaces an older one at once. Later programs
    // begin with it (SliceOptions::restore), on any number of ranks. They take again what was taken and not
    // committed. With at_most_once, what was given to a node counts as committed. Throws std::runtime_error:
    // it cannot be written; std::logic_error: not on rank 0. Waits for ranks' answers, not for their slices;
    // a lost rank's for 10 s.
    void save(const std::string& path);

    // Writes statistics from now on until the end: how many slices are left, the epoch, how many each rank
    // has taken, stragglers. On rank 0; does nothing on other ranks. Once. Throws SetupError if the file
    // cannot be created.
    void add_summary(const SliceSummaryOptions& options);

    std::uint64_t size() const;  // slices of one epoch
    // Those that were given, but must_exist is set. On a worker: what rank 0 has of prefix, epochs, order,
    // cut, delivery, record_each and name.
    const SliceOptions& options() const;
    // Whether the slice's work is a regular file, or was one, in the process that gives it: not a folder, and
    // not only a name. Throws std::runtime_error if rank 0 is lost.
    bool is_file(const Slice& slice);
    // As in statistics: of the session, 0 for a process alone; workers are numbered after the ranks.
    int rank() const;
    std::uint64_t seed() const;
    std::uint64_t taken() const;  // by this rank

    // The slices of take() as an input range: for (const wq::Slice& slice : slices.input_dataset()) ...
    class Dataset;
    Dataset input_dataset();
    // A queue of so many slices, which are claimed ahead of their consumer by a thread (without MPI). Throws
    // std::invalid_argument if capacity is 0.
    SliceProducer input_producer(std::size_t capacity = 1);

  private:
    friend class SliceReader;
    SliceFeed& feed();
    class Impl;
    explicit SliceQueue(std::unique_ptr<Impl> impl);
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
    SliceQueue& queue() const { return *queue_; }
    iterator begin() const { return iterator(*queue_); }  // takes the first
    std::default_sentinel_t end() const { return {}; }

  private:
    SliceQueue* queue_;
};

// Slices that are claimed ahead, from the first next() on. The SliceQueue must outlive it.
class SliceProducer {
  public:
    SliceProducer(SliceProducer&&) noexcept;
    SliceProducer& operator=(SliceProducer&&) noexcept;
    // Does not wait, though its thread may do so for other ranks. What nobody has consumed is for others, or
    // for whoever takes next here; so is the last slice, unless commit_by_hand or at_most_once.
    ~SliceProducer();

    // The next slice; nullopt: the end, as of SliceQueue::take(), or stopped. Unless commit_by_hand, commits
    // the one before; what is only claimed is not committed. Waits. Throws std::runtime_error if rank 0 is
    // lost.
    std::optional<Slice> next();
    // The same, but waits for at most so long, as take_at_most() does.
    std::optional<Slice> next_at_most(std::chrono::nanoseconds limit);
    // On any thread: next() returns nullopt from now on, also where it waits.
    void stop();

  private:
    friend class SliceQueue;
    friend class SliceReader;
    SliceProducer(SliceFeed& feed, std::size_t capacity);
    SliceFeed& feed();
    class Impl;
    std::unique_ptr<Impl> impl_;
};

inline SliceQueue::Dataset SliceQueue::input_dataset() {
    return Dataset(*this);
}

}  // namespace gnu::visibility("default")]]wq
