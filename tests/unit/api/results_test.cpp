// Results on their way to the program.
#include "api/results.h"

#include <gtest/gtest.h>

#include <thread>

namespace wq::api {
namespace {

std::unique_ptr<TaskData> task(std::int64_t id, std::string tag) {
    auto made = std::make_unique<TaskData>();
    made->id = id;
    made->tag = std::move(tag);
    return made;
}

class ResultsTest : public ::testing::Test {
  protected:
    void submit(std::int64_t id, const std::string& tag) { results_.expect(*task(id, tag)); }
    void end(std::int64_t id, const std::string& tag) { results_.add_ended(task(id, tag)); }
    std::int64_t wait_for(const std::string& tag) {
        const auto got = results_.wait(std::nullopt, &tag);
        return got ? got->id : 0;
    }

    Results results_{instant_now()};
};

// For ever, where tasks without a tag were not counted by themselves.
TEST_F(ResultsTest, WaitsForTasksWithoutATagOnlyWhileThereAreSome) {
    submit(1, "a");
    EXPECT_EQ(wait_for(""), 0);
    submit(2, "");
    end(1, "a");
    end(2, "");
    results_.publish();
    EXPECT_EQ(wait_for(""), 2);
    EXPECT_EQ(wait_for(""), 0);
    EXPECT_EQ(wait_for("a"), 1);
    EXPECT_TRUE(results_.empty());
}

TEST_F(ResultsTest, AreGatheredUntilAllHaveEndedThatHaveNoTagOfTheirOwn) {
    submit(1, "a");
    submit(2, "");
    auto part_of_a_map = task(3, "map");
    part_of_a_map->by_tag_only = true;
    results_.expect(*part_of_a_map);
    EXPECT_FALSE(results_.gather(instant_now()));
    end(1, "a");
    results_.publish();
    EXPECT_FALSE(results_.gather(instant_now()));
    std::thread last([&] {
        end(2, "");
        results_.publish();
    });
    EXPECT_TRUE(results_.gather(instant_now() + std::chrono::hours(1)));
    last.join();
    EXPECT_EQ(results_.wait(std::nullopt)->id, 1);
}

// A map's tasks must come to the map, although the program waits for its own meanwhile.
TEST_F(ResultsTest, SomeComeOnlyToThoseWhoNameTheirTag) {
    for (const std::int64_t id : {1, 2, 3}) {
        auto made = task(id, "map");
        made->by_tag_only = true;
        results_.expect(*made);
        results_.add_ended(std::move(made));
    }
    EXPECT_TRUE(results_.empty());
    results_.publish();
    EXPECT_EQ(results_.wait(std::nullopt), nullptr);
    EXPECT_TRUE(results_.take_category(nullptr).empty());
    submit(4, "");
    end(4, "");
    results_.publish();
    EXPECT_FALSE(results_.empty());
    EXPECT_EQ(results_.wait(std::nullopt)->id, 4);
    EXPECT_EQ(wait_for("map"), 1);
    EXPECT_EQ(results_.take(2)->id, 2);
    EXPECT_EQ(results_.figures().waiting, 1);
    EXPECT_EQ(wait_for("map"), 3);
    EXPECT_EQ(wait_for("map"), 0);
}

// Look by look through all that wait, this would take minutes.
TEST_F(ResultsTest, AreAtHandByTagAndIdHoweverManyWait) {
    constexpr std::int64_t many = 200'000;
    for (std::int64_t id = 1; id <= many; ++id) {
        submit(id, std::to_string(id));
        end(id, std::to_string(id));
    }
    results_.publish();
    for (std::int64_t id = many; id > many / 2; --id) {
        ASSERT_TRUE(results_.holds(id));
        ASSERT_EQ(wait_for(std::to_string(id)), id);
    }
    for (std::int64_t id = many / 2; id > 1; --id) {
        const auto taken = id % 2 == 0 ? results_.take(id) : results_.take_tagged(std::to_string(id));
        ASSERT_EQ(taken->id, id);
    }
    EXPECT_EQ(results_.wait(std::nullopt)->id, 1);
    EXPECT_TRUE(results_.empty());
}

TEST_F(ResultsTest, OfATagComeInTheOrderOfTheirEnds) {
    for (const std::int64_t id : {3, 1, 2, 4}) {
        submit(id, id == 4 ? "other" : "same");
        end(id, id == 4 ? "other" : "same");
    }
    results_.publish();
    EXPECT_EQ(results_.take(1)->id, 1);
    EXPECT_EQ(wait_for("same"), 3);
    EXPECT_EQ(wait_for("same"), 2);
    EXPECT_EQ(wait_for("same"), 0);
    EXPECT_EQ(results_.wait(std::nullopt)->id, 4);
}

TEST_F(ResultsTest, WhoWaitsForATagIsWokenWhenTheLastOfItIsCancelled) {
    submit(1, "a");
    submit(2, "b");
    std::thread waiter([&] { EXPECT_EQ(wait_for("a"), 0); });
    while (results_.waiters() == 0) std::this_thread::yield();
    results_.cancelled(*task(1, "a"));
    waiter.join();
    EXPECT_FALSE(results_.empty());
}

}  // namespace
}  // namespace wq::api
