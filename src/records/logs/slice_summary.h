// Statistics of a SliceQueue as time series: into an HDF5 file (records/hdf5/schema.h: /slice_queue,
// /slice_ranks, /slices), and as scalars of TensorBoard. A thread takes a sample now and then, and at the
// end. After a failed write it says a line, and writes no more to that file; after an exception, no more to
// any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "records/hdf5/h5_writer.h"
#include "records/hdf5/schema.h"
#include "records/logs/event_file.h"

namespace wq::records::logs {

struct SliceSample {
    hdf5::SliceQueueRow queue;
    std::vector<hdf5::SliceRankRow> ranks;
};

// How many of those that are here have taken fewer than half as many as the median rank.
std::uint32_t count_stragglers(const std::vector<hdf5::SliceRankRow>& ranks);

struct SliceSummaryOptions {
    std::string hdf5;  // path; an earlier file of this name is renamed (statistics_file.h); empty: none
    std::string tensorboard;  // folder for an event file (event_file.h); empty: none
    std::string name;         // of the queue; its scalars are NAME/fraction_left and so on
    hdf5::H5Attributes attributes{};
    // Between samples. With more than 100 ranks, longer: so that a rank has at most 100 rows a second.
    Duration interval = std::chrono::seconds(1);
    std::function<void(const std::string&)> say;
};

class SliceSummary {
  public:
    // `sample` is called on the summary's thread, by write_now() and by finish(). Error usage: the interval
    // is not above 0, or above a year.
    static Result<std::unique_ptr<SliceSummary>> open(SliceSummaryOptions options,
                                                      std::function<SliceSample()> sample);
    ~SliceSummary();  // as finish()
    SliceSummary(const SliceSummary&) = delete;

    // One slice that was committed; on any thread. Written with the next sample.
    void add(const hdf5::SliceRow& slice);
    // Takes a sample; returns when all that was added before is in the files. So what a checkpoint counts as
    // committed has its row, even if the program is killed after it.
    void write_now() { write_sample(); }
    // Takes the last sample; returns when all is written. add() and `sample` are not used after it.
    void finish();

  private:
    SliceSummary(SliceSummaryOptions options, std::function<SliceSample()> sample);
    Status create_files();
    void run();
    // Returns how long to wait until the next one.
    Duration write_sample();
    Duration write(const std::vector<hdf5::SliceRow>& slices);
    void print_line(const std::string& line) const;
    Status write_hdf5(const SliceSample& sample, const std::vector<hdf5::SliceRow>& slices);
    Status write_events(const SliceSample& sample);

    SliceSummaryOptions options_;
    std::function<SliceSample()> sample_;
    std::optional<hdf5::H5Writer> hdf5_;
    std::optional<EventFile> events_;
    std::mutex writing_;
    bool failed_ = false;  // by an exception
    std::mutex mutex_;     // of what follows; taken after the other one
    std::condition_variable ending_;
    bool over_ = false;
    std::vector<hdf5::SliceRow> slices_;  // not written yet
    std::thread thread_;
};

}  // namespace wq::records::logs
