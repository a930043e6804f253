#include "records/journal/ask_ids.h"

#include <gtest/gtest.h>

namespace wq::records::journal {
namespace {

engine::model::Needs cores(std::int64_t count) {
    engine::model::Needs needs;
    needs.cores = count;
    return needs;
}

TEST(AskIds, BeginAtOneAndAreOneForTheSameNeedsAndFeatures) {
    AskIds ids;
    const auto is = [](AskIds::Known known, std::uint32_t id, bool is_new) {
        return known.id == AskId(id) && known.is_new == is_new;
    };
    EXPECT_TRUE(is(ids.id_of({}, {}), 1, true));
    EXPECT_TRUE(is(ids.id_of(cores(1), {}), 2, true));
    EXPECT_TRUE(is(ids.id_of(cores(1), {"fast"}), 3, true));
    EXPECT_TRUE(is(ids.id_of(cores(1), {}), 2, false));
    EXPECT_TRUE(is(ids.id_of({}, {}), 1, false));
    EXPECT_TRUE(is(ids.id_of(cores(1), {"fast"}), 3, false));
}

TEST(AskIds, OfFurtherAsksAreOne) {
    AskIds ids;
    for (std::int64_t count = 1; count <= 999; ++count) {
        const auto known = ids.id_of(cores(count), {});
        ASSERT_EQ(known.id, AskId(static_cast<std::uint32_t>(count)));
        ASSERT_TRUE(known.is_new);
    }
    EXPECT_EQ(ids.id_of(cores(1000), {}).id, further_ask);
    EXPECT_FALSE(ids.id_of(cores(1001), {}).is_new);
    EXPECT_EQ(ids.id_of(cores(1001), {}).id, further_ask);
    EXPECT_EQ(ids.id_of(cores(999), {}).id, AskId(999));
    EXPECT_FALSE(ids.further().is_new);
}

}  // namespace
}  // namespace wq::records::journal
