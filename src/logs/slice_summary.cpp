#include "logs/slice_summary.h"

#include <algorithm>
#include <utility>

#include "base/quiet_thread.h"
#include "logs/statistics_file.h"

namespace wq::logs {

namespace {

constexpr std::size_t rank_rows_each_interval = 100;

}  // namespace

std::uint32_t count_stragglers(const std::vector<stats::SliceRankRow>& ranks) {
    std::vector<std::uint64_t> taken;
    for (const stats::SliceRankRow& rank : ranks)
        if (rank.is_here != 0) taken.push_back(rank.taken);
    if (taken.empty()) return 0;
    const auto middle = taken.begin() + static_cast<std::ptrdiff_t>(taken.size() / 2);
    std::nth_element(taken.begin(), middle, taken.end());
    const std::uint64_t median = *middle;
    return static_cast<std::uint32_t>(
        std::count_if(taken.begin(), taken.end(), [&](std::uint64_t each) { return each < median / 2; }));
}

Result<std::unique_ptr<SliceSummary>> SliceSummary::open(SliceSummaryOptions options,
                                                         std::function<SliceSample()> sample) {
    auto writer = new_statistics_file(options.hdf5, options.attributes, options.say);
    if (!writer) return writer.error();
    return std::unique_ptr<SliceSummary>(
        new SliceSummary(std::move(options), std::move(sample), std::move(*writer)));
}

SliceSummary::SliceSummary(SliceSummaryOptions options, std::function<SliceSample()> sample,
                           stats::H5Writer writer)
    : options_(std::move(options)), sample_(std::move(sample)), writer_(std::move(writer)) {
    thread_ = quiet_thread([this] { run(); });
}

SliceSummary::~SliceSummary() {
    finish();
}

void SliceSummary::add(const stats::SliceRow& slice) {
    std::lock_guard lock(mutex_);
    slices_.push_back(slice);
}

void SliceSummary::finish() {
    if (!thread_.joinable()) return;
    {
        std::lock_guard lock(mutex_);
        over_ = true;
    }
    ending_.notify_all();
    thread_.join();
    write_sample();
    if (const Status closed = writer_.close(); !closed) options_.say(closed.error().message);
}

void SliceSummary::run() {
    for (bool over = false; !over;) {
        const Duration pause = write_sample();
        std::unique_lock lock(mutex_);
        over = ending_.wait_for(lock, pause, [this] { return over_; });
    }
}

Duration SliceSummary::write_sample() {
    const SliceSample sample = sample_();
    const auto longer = std::max<std::size_t>(1, sample.ranks.size() / rank_rows_each_interval);
    std::vector<stats::SliceRow> slices;
    {
        std::lock_guard lock(mutex_);
        slices.swap(slices_);
    }
    writer_.append(stats::Dataset::slice_queue, sample.queue);
    for (const stats::SliceRankRow& rank : sample.ranks) writer_.append(stats::Dataset::slice_ranks, rank);
    for (const stats::SliceRow& slice : slices) writer_.append(stats::Dataset::slices, slice);
    if (const Status written = writer_.flush(); !written) options_.say(written.error().message);
    return options_.interval * static_cast<std::int64_t>(longer);
}

}  // namespace wq::logs
