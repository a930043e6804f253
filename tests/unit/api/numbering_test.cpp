#include "api/deferred_manager.h"

#include <gtest/gtest.h>

namespace {

using wq::api::Numbering;

int taken(Numbering& ids) {
    const int id = ids.next();
    ids.take();
    return id;
}

TEST(Numbering, CountsAsTheManagerDoes) {
    Numbering ids;
    EXPECT_EQ(taken(ids), 1);
    EXPECT_EQ(taken(ids), 2);
    EXPECT_EQ(ids.of_manager(1), 1);
    EXPECT_EQ(ids.of_manager(2), 2);
    EXPECT_EQ(ids.of_manager(0), std::nullopt);
    EXPECT_EQ(ids.of_manager(-1), std::nullopt);
    EXPECT_EQ(ids.of_manager(3), std::nullopt);
}

TEST(Numbering, LeavesIdsOut) {
    Numbering ids;
    taken(ids);
    ids.at_least(100);
    ids.at_least(50);  // it is already
    EXPECT_EQ(taken(ids), 100);
    EXPECT_EQ(taken(ids), 101);
    ids.at_least(200);
    EXPECT_EQ(taken(ids), 200);
    EXPECT_EQ(ids.of_manager(1), 1);
    EXPECT_EQ(ids.of_manager(100), 2);
    EXPECT_EQ(ids.of_manager(101), 3);
    EXPECT_EQ(ids.of_manager(200), 4);
    for (const int none : {2, 99, 102, 199, 201}) EXPECT_EQ(ids.of_manager(none), std::nullopt) << none;
}

TEST(Numbering, LeavesOutTwiceInARow) {
    Numbering ids;
    ids.at_least(10);
    ids.at_least(20);
    EXPECT_EQ(taken(ids), 20);
    EXPECT_EQ(ids.of_manager(20), 1);
    EXPECT_EQ(ids.of_manager(10), std::nullopt);
    EXPECT_EQ(ids.of_manager(1), std::nullopt);
}

TEST(Numbering, EndsWithTheLastId) {
    Numbering ids;
    ids.at_least(INT_MAX);
    EXPECT_EQ(taken(ids), INT_MAX);
    EXPECT_EQ(ids.next(), 0);
    EXPECT_EQ(ids.of_manager(INT_MAX), 1);
    ids.at_least(5);
    EXPECT_EQ(ids.next(), 0);
}

}  // namespace
