#include "records/logs/slice_summary.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/signals.h"
#include "records/logs/statistics_file.h"

namespace wq::records::logs {

namespace {

constexpr std::size_t rank_rows_each_interval = 100;
constexpr Duration longest_interval = std::chrono::hours(24 * 365);

}  // namespace

std::uint32_t count_stragglers(const std::vector<hdf5::SliceRankRow>& ranks) {
    std::vector<std::uint64_t> taken;
    for (const hdf5::SliceRankRow& rank : ranks)
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
    if (options.interval <= Duration::zero() || options.interval > longest_interval)
        return Error{ExitCode::usage, "the interval of a summary is above 0 seconds and at most a year"};
    std::unique_ptr<SliceSummary> summary(new SliceSummary(std::move(options), std::move(sample)));
    if (Status created = summary->create_files(); !created) return created.error();
    summary->thread_ = quiet_thread([&summary = *summary] { summary.run(); });
    return summary;
}

SliceSummary::SliceSummary(SliceSummaryOptions options, std::function<SliceSample()> sample)
    : options_(std::move(options)), sample_(std::move(sample)) {}

Status SliceSummary::create_files() {
    if (!options_.tensorboard.empty()) {
        auto events = EventFile::create(options_.tensorboard, wall_now());
        if (!events) return events.error();
        events_.emplace(std::move(*events));
    }
    if (options_.hdf5.empty()) return success();
    auto writer = new_statistics_file(options_.hdf5, options_.attributes, options_.say);
    if (!writer) return writer.error();
    hdf5_.emplace(std::move(*writer));
    return success();
}

SliceSummary::~SliceSummary() {
    finish();
}

void SliceSummary::add(const hdf5::SliceRow& slice) {
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
    if (!hdf5_) return;
    if (const Status closed = hdf5_->close(); !closed) print_line(closed.error().message);
}

void SliceSummary::run() {
    for (bool over = false; !over;) {
        const Duration pause = write_sample();
        std::unique_lock lock(mutex_);
        over = ending_.wait_for(lock, pause, [this] { return over_; });
    }
}

// On a thread, and in a destructor: an exception would end the program.
Duration SliceSummary::write_sample() {
    const std::lock_guard one_at_a_time(writing_);
    std::vector<hdf5::SliceRow> slices;
    {
        std::lock_guard lock(mutex_);
        slices.swap(slices_);
    }
    if (failed_) return longest_interval;
    try {
        return write(slices);
    } catch (const std::exception& error) {
        print_line(std::string("no more statistics are written: ") + error.what());
    } catch (...) {
        print_line("no more statistics are written: an unknown exception");
    }
    failed_ = true;
    return longest_interval;
}

Duration SliceSummary::write(const std::vector<hdf5::SliceRow>& slices) {
    const SliceSample sample = sample_();
    const auto longer = std::max<std::size_t>(1, sample.ranks.size() / rank_rows_each_interval);
    for (const Status& written : {write_hdf5(sample, slices), write_events(sample)})
        if (!written) print_line(written.error().message);
    return std::min(options_.interval, longest_interval / static_cast<std::int64_t>(longer)) *
           static_cast<std::int64_t>(longer);
}

void SliceSummary::print_line(const std::string& line) const {
    try {
        options_.say(line);
    } catch (...) {  // the program's own function
    }
}

Status SliceSummary::write_hdf5(const SliceSample& sample, const std::vector<hdf5::SliceRow>& slices) {
    if (!hdf5_) return success();
    hdf5_->append(hdf5::Dataset::slice_queue, sample.queue);
    for (const hdf5::SliceRankRow& rank : sample.ranks) hdf5_->append(hdf5::Dataset::slice_ranks, rank);
    for (const hdf5::SliceRow& slice : slices) hdf5_->append(hdf5::Dataset::slices, slice);
    return hdf5_->flush();
}

// Over what is committed: a run that goes on from a checkpoint continues its curves.
Status SliceSummary::write_events(const SliceSample& sample) {
    if (!events_) return success();
    const hdf5::SliceQueueRow& now = sample.queue;
    std::vector<std::pair<std::string, double>> values{{"fraction_left", now.fraction_left},
                                                       {"left", static_cast<double>(now.left)},
                                                       {"epoch", static_cast<double>(now.epoch)},
                                                       {"ranks", now.ranks},
                                                       {"waiting_ranks", now.waiting},
                                                       {"stragglers", now.stragglers},
                                                       {"given_again", static_cast<double>(now.given_again)}};
    for (const hdf5::SliceRankRow& rank : sample.ranks)
        values.emplace_back("slices_of_rank/" + std::to_string(rank.rank), static_cast<double>(rank.taken));
    for (auto& [tag, value] : values) tag.insert(0, options_.name + "/");
    std::vector<Scalar> scalars;
    for (const auto& [tag, value] : values) scalars.push_back({tag, value});
    if (Status added = events_->add(static_cast<std::int64_t>(now.committed), now.timestamp, scalars); !added)
        return added;
    return events_->flush();
}

}  // namespace wq::records::logs
