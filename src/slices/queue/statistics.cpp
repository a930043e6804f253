#include "slices/queue/statistics.h"

#include <string>
#include <utility>

#include "api/setup_error.h"
#include "slices/queue/say.h"

namespace wq::slices::queue {

void Statistics::record(std::uint32_t rank, const claims::Timed& each) {
    const std::lock_guard lock(mutex_);
    const records::hdf5::SliceRow row = row_of(rank, each);
    summary_ ? summary_->add(row) : early_rows_.push_back(row);
}

void Statistics::open(const SliceSummaryOptions& options, std::function<claims::GiverReport()> report) {
    const std::string& name = pass_.options().name;
    if (summary_) throw SetupError(name + ": it has a summary already", 64);
    if (options.hdf5.empty() && options.tensorboard.empty())
        throw SetupError("a summary needs hdf5, tensorboard, or both", 64);
    constexpr double a_year = 365 * 86'400.0;
    if (!(options.interval > 0 && options.interval <= a_year))
        throw SetupError("the interval of a summary is above 0 and at most a year", 64);
    records::logs::SliceSummaryOptions writing;
    writing.hdf5 = options.hdf5;
    writing.tensorboard = options.tensorboard;
    writing.name = name;
    writing.attributes = {{"name", name}, {"seed", std::to_string(pass_.seed())}};
    writing.interval = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.interval));
    writing.say = say_as(pass_.options());
    auto summary = records::logs::SliceSummary::open(
        std::move(writing), [this, report = std::move(report)] { return sample(report()); });
    if (!summary) throw SetupError(summary.error().message, to_int(ExitCode::bad_input));  // a file's
    const std::lock_guard lock(mutex_);
    summary_ = std::move(*summary);
    for (const records::hdf5::SliceRow& row : std::exchange(early_rows_, {})) summary_->add(row);
}

void Statistics::write_now() {
    if (summary_) summary_->write_now();
}

void Statistics::finish() {
    if (summary_) summary_->finish();
}

records::logs::SliceSample Statistics::sample(const claims::GiverReport& now) const {
    records::logs::SliceSample sample;
    records::hdf5::SliceQueueRow& row = sample.queue;
    row.timestamp = wall_now();
    row.time_when_started = started_;
    row.positions = now.positions;
    row.slices = pass_.plan().size();
    row.committed = now.committed;
    row.left = now.to_give;
    row.fraction_left = static_cast<double>(now.to_give) / static_cast<double>(now.positions);
    row.epoch = now.first_open / pass_.plan().size();
    row.given_again = now.given_again;
    row.waiting = static_cast<std::uint32_t>(now.waiting);
    row.lost_ranks = static_cast<std::uint32_t>(now.lost_ranks);
    for (const claims::RankReport& rank : now.ranks) {
        sample.ranks.push_back({row.timestamp, rank.taken, rank.rank, rank.is_here ? 1U : 0U});
        row.ranks += rank.is_here;
    }
    row.stragglers = records::logs::count_stragglers(sample.ranks);
    return sample;
}

records::hdf5::SliceRow Statistics::row_of(std::uint32_t rank, const claims::Timed& each) {
    records::hdf5::SliceRow row;
    row.taken = each.taken_us;
    row.committed = each.committed_us;
    row.position = each.position;
    row.epoch = pass_.epoch_of(each.position);
    row.slice = order_.slice_at(each.position);
    const plan::Slice slice = pass_.plan().at(row.slice);
    if (slice.records) row.first = slice.records->first, row.end = slice.records->end;
    row.rank = rank;
    row.failed = each.failed ? 1U : 0U;
    row.work = records::hdf5::Text<64>(slice.source);
    return row;
}

}  // namespace wq::slices::queue
