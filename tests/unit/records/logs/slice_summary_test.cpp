#include "records/logs/slice_summary.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "records/hdf5/h5_reader.h"
#include "support/folder.h"

namespace wq::records::logs {
namespace {

using test::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SliceSummaryOptions into(const Folder& folder, std::vector<std::string>& said) {
    SliceSummaryOptions options;
    options.hdf5 = folder / "s.h5";
    options.attributes = {{"name", "q"}, {"seed", "1"}};
    options.interval = std::chrono::hours(1);
    options.say = [&](const std::string& line) { said.push_back(line); };
    return options;
}

hdf5::SliceRow row(std::uint64_t position) {
    hdf5::SliceRow row;
    row.position = position;
    return row;
}

std::vector<std::uint64_t> positions_in(const std::string& path) {
    std::vector<std::uint64_t> positions;
    for (const hdf5::SliceRow& row : hdf5::StatsReader::open(path).or_throw().slices().or_throw())
        positions.push_back(row.position);
    return positions;
}

TEST(SliceSummary, WritesAtOnceWhenAsked) {
    const Folder folder;
    std::vector<std::string> said;
    auto summary = SliceSummary::open(into(folder, said), [] { return SliceSample{}; }).or_throw();
    summary->add(row(3));
    summary->write_now();
    EXPECT_THAT(positions_in(folder / "s.h5"), ElementsAre(3));
    summary->add(row(5));
    summary->finish();
    EXPECT_THAT(positions_in(folder / "s.h5"), ElementsAre(3, 5));
    EXPECT_TRUE(said.empty());
}

TEST(SliceSummary, SaysThatAnExceptionEndsItAndGoesOn) {
    const Folder folder;
    std::vector<std::string> said;
    auto options = into(folder, said);
    options.interval = std::chrono::milliseconds(1);
    int samples = 0;
    auto summary = SliceSummary::open(std::move(options), [&]() -> SliceSample {
                       if (++samples > 1) throw std::runtime_error("out of luck");
                       return {};
                   }).or_throw();
    summary->add(row(1));
    summary->write_now();
    summary->finish();
    EXPECT_EQ(samples, 2);
    EXPECT_THAT(said, ElementsAre("no more statistics are written: out of luck"));
}

TEST(SliceSummary, RefusesIntervalsThatAreNone) {
    for (const Duration interval : {Duration::zero(), Duration::min(), Duration::max()}) {
        const Folder folder;
        std::vector<std::string> said;
        auto options = into(folder, said);
        options.interval = interval;
        const auto summary = SliceSummary::open(std::move(options), [] { return SliceSample{}; });
        ASSERT_FALSE(summary);
        EXPECT_EQ(summary.error().code, ExitCode::usage);
        EXPECT_THAT(summary.error().message, HasSubstr("the interval of a summary is above 0"));
    }
}

}  // namespace
}  // namespace wq::records::logs
