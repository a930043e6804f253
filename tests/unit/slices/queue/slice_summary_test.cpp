// What a program asks of the statistics of slices.
#include <gmock/gmock.h>

#include <limits>

#include "support/folder.h"
#include "work_queue/slice_queue.h"

namespace wq {
namespace {

TEST(SliceSummaryOptions, HaveAnIntervalThatEnds) {
    for (const double interval : {std::numeric_limits<double>::infinity(), 1e300, 0.0, -1.0,
                                  std::numeric_limits<double>::quiet_NaN()}) {
        const test::Folder folder;
        SliceOptions options;
        options.must_exist = false;
        SliceQueue queue({"a"}, options);
        try {
            queue.add_summary({.hdf5 = folder / "s.h5", .interval = interval});
            ADD_FAILURE() << interval;
        } catch (const SetupError& error) {
            EXPECT_THAT(error.what(), ::testing::HasSubstr("the interval of a summary is above 0"));
        }
    }
}

}  // namespace
}  // namespace wq
