#include "programs/slices/audit.h"

#include <gmock/gmock.h>

namespace wq::programs::slices {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options two_works() {
    Options options;
    options.works = {"a", "b"};
    options.slices.num_epochs = 2;
    options.slices.shuffle = false;
    options.slices.must_exist = false;
    options.slices.commit_by_hand = true;
    options.slices.prefix = "/data/";
    return options;
}

records::hdf5::SliceRow row(std::uint64_t position, std::uint32_t rank, std::int64_t seconds) {
    records::hdf5::SliceRow row;
    row.position = position;
    row.epoch = position / 2;
    row.rank = rank;
    row.taken = 1'000'000;
    row.committed = row.taken + seconds * 1'000'000;
    row.work = records::hdf5::FixedText<64>(std::string(position % 2 == 0 ? "a" : "b"));
    return row;
}

TEST(SlicesAudit, OfACompleteRunHasEachRanksTimes) {
    const Audit all = audit(two_works(), {{row(0, 0, 1), row(1, 0, 3), row(2, 5, 2), row(3, 0, 2)}});
    EXPECT_TRUE(all.complete());
    EXPECT_EQ(all.planned, 4U);
    EXPECT_EQ(all.ranks.at({0, 0}).slices, 3U);
    EXPECT_EQ(all.ranks.at({0, 0}).all_us, 6'000'000);
    EXPECT_EQ(all.ranks.at({0, 0}).longest, "b");
    EXPECT_EQ(all.ranks.at({0, 5}).slices, 1U);
    EXPECT_THAT(text_of(all), HasSubstr("4 of 4 slices committed once, by 2 ranks"));
}

TEST(SlicesAudit, NamesWhatFailed) {
    std::vector<records::hdf5::SliceRow> rows{row(0, 0, 1), row(1, 0, 3), row(2, 5, 2), row(3, 0, 2)};
    rows[2].failed = 1;
    const Audit found = audit(two_works(), {rows});
    EXPECT_FALSE(found.complete());
    EXPECT_EQ(found.committed, 4U);
    EXPECT_EQ(found.ranks.at({0, 5}).failed, 1U);
    EXPECT_THAT(found.problems, ElementsAre("failed: epoch 1, /data/a"));
}

TEST(SlicesAudit, FindsWhatIsMissingTwiceOrOfAnotherPlan) {
    records::hdf5::SliceRow other = row(1, 0, 1);
    other.end = 7;
    const Audit found = audit(two_works(), {{row(0, 0, 1), row(0, 1, 1), other, row(9, 0, 1), row(2, 0, 1)}});
    EXPECT_FALSE(found.complete());
    EXPECT_EQ(found.committed, 1U);
    EXPECT_THAT(found.problems, ElementsAre("committed 2 times: epoch 0, /data/a",
                                            "b?start=0&end=7 was committed instead of epoch 0, /data/b",
                                            "not committed: epoch 1, /data/b", "not in the plan: b"));
}

TEST(SlicesAudit, WithOtherOptionsThanTheRunSaysSo) {
    Options options = two_works();
    const std::vector<records::hdf5::SliceRow> rows{row(0, 0, 1), row(1, 0, 3)};
    EXPECT_THAT(text_of(audit(options, {rows})), ::testing::Not(HasSubstr("no slice fits")));
    options.works = {"c", "d"};
    EXPECT_THAT(text_of(audit(options, {rows})),
                HasSubstr("no slice fits the plan: give the works and options of the run"));
    EXPECT_THAT(text_of(audit(options, {{}})), ::testing::Not(HasSubstr("no slice fits")));
}

TEST(SlicesAudit, OfSeveralPartsJudgesAllOfThem) {
    records::hdf5::SliceRow vain = row(1, 0, 1);
    vain.failed = 1;
    const Audit all = audit(two_works(), {{row(0, 0, 1), vain}, {row(1, 2, 1), row(2, 0, 4), row(3, 2, 1)}});
    EXPECT_TRUE(all.complete());
    EXPECT_EQ(all.ranks.at({0, 0}).slices, 1U);
    EXPECT_EQ(all.ranks.at({1, 0}).all_us, 4'000'000);
    EXPECT_EQ(all.ranks.at({1, 2}).slices, 2U);
    EXPECT_THAT(text_of(all),
                HasSubstr("4 of 4 slices committed once, by 3 ranks of 2 runs\n   run   rank "));
    EXPECT_THAT(text_of(all), HasSubstr("\n     2      2          2 "));

    const Audit twice = audit(two_works(), {{row(0, 0, 1), vain}, {row(0, 0, 1), vain, row(2, 0, 1)}});
    EXPECT_THAT(twice.problems, ElementsAre("committed 2 times: epoch 0, /data/a", "failed: epoch 0, /data/b",
                                            "not committed: epoch 1, /data/b"));
}

}  // namespace
}  // namespace wq::programs::slices
