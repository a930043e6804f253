// Which samples of a run's statistics are written.
#include "manager/manager_times.h"

#include <gmock/gmock.h>

#include <vector>

namespace wq::manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

class TimeSeriesTest : public ::testing::Test, public records::recorder::Recorder {
  protected:
    void sample(const records::journal::Sample& sample) override {
        at_.push_back((sample.time_us - 1) / 1000);
        last_ = sample.stats;
    }
    void task(records::recorder::Recorded) override {}
    void worker(const records::journal::WorkerRecord&) override {}
    void category(CategoryId, std::string) override {}
    void transaction(WallMicros, std::string) override {}
    std::uint64_t acknowledged() const override { return 0; }
    std::uint64_t backlog_bytes() const override { return 0; }
    int descriptor() const override { return -1; }
    void settle() override {}
    std::optional<std::string> trouble() const override { return std::nullopt; }
    std::vector<std::string> notices() override { return {}; }
    Status close() override { return success(); }
    Unrecorded unrecorded() const override { return {}; }

    engine::model::Now at(milliseconds since) const { return {started_ + since, 1 + since.count() * 1000}; }
    // Samples as they come due, from `from` until before `to`.
    void run(milliseconds from, milliseconds to) {
        for (auto t = from; t < to; t += milliseconds(100)) {
            for (auto* clock : {&stats_.time_status_msgs, &stats_.time_internal, &stats_.time_polling,
                                &stats_.time_application})
                ++*clock;
            stats_.manager_load = 1.0 / static_cast<double>(stats_.time_polling);
            if (at(t).instant >= series_.next()) series_.take(stats_, at(t));
        }
    }

    const Instant started_{seconds(1000)};
    engine::model::ManagerStats stats_;
    engine::model::ManagerStats last_;
    std::vector<std::int64_t> at_;  // ms since the start, of samples that were written
    TimeSeries series_{*this, milliseconds(100), started_};
};

TEST_F(TimeSeriesTest, WhileClocksRunAloneASampleIsWrittenEveryTenSeconds) {
    run(seconds(0), seconds(31));
    EXPECT_THAT(at_, ElementsAre(0, 10'000, 20'000, 30'000));
}

TEST_F(TimeSeriesTest, TheSampleBeforeAChangeIsWrittenToo) {
    run(seconds(0), seconds(3));
    ++stats_.tasks_running;
    run(seconds(3), seconds(4));
    EXPECT_THAT(at_, ElementsAre(0, 2'900, 3'000));
    ++stats_.tasks_done;
    run(seconds(4), seconds(4) + milliseconds(200));
    EXPECT_THAT(at_, ElementsAre(0, 2'900, 3'000, 3'900, 4'000));
}

TEST_F(TimeSeriesTest, ASampleForEachChangeHasNoneBetween) {
    for (milliseconds t(0); t < seconds(1); t += milliseconds(100)) {
        ++stats_.tasks_done;
        run(t, t + milliseconds(100));
    }
    EXPECT_EQ(at_.size(), 10u);
}

TEST_F(TimeSeriesTest, TheLastSampleIsWrittenEvenIfNothingHasChanged) {
    run(seconds(0), seconds(3));
    series_.finish(stats_, at(seconds(3)));
    EXPECT_THAT(at_, ElementsAre(0, 2'900, 3'000));
    EXPECT_EQ(last_.time_polling, 30);
}

TEST_F(TimeSeriesTest, ALogThatBeginsLaterGetsASampleAtOnce) {
    run(seconds(0), seconds(3));
    series_.start_anew(milliseconds(500), at(seconds(3)).instant);
    run(seconds(3), seconds(4));
    EXPECT_THAT(at_, ElementsAre(0, 3'000));
    ++stats_.tasks_done;
    run(seconds(4), seconds(5));
    EXPECT_THAT(at_, ElementsAre(0, 3'000, 3'500, 4'000));
}

TEST_F(TimeSeriesTest, TheIntervalDoublesAfterSixHundredRows) {
    for (milliseconds t(0); t < seconds(120); t += milliseconds(100)) {
        ++stats_.tasks_done;
        run(t, t + milliseconds(100));
    }
    EXPECT_EQ(at_.size(), 600u + 300u);
}

}  // namespace
}  // namespace wq::manager
