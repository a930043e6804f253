// The cost of dispatching, in workers looked at: the same for a thousand workers as for ten.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class LooksTest : public RunFixture {
  protected:
    struct Pool {
        std::uint32_t workers;
        std::uint32_t large = 0;  // the first this many are large
        Duration large_stay = 0s;
    };

    static Resources small() { return {4, 40'000, 20'000, 0}; }

    void fill(const Pool& pool) {
        options({.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true});
        for (std::uint32_t id = 0; id < pool.workers; ++id) {
            WorkerJoined joined{WorkerId(id), "node", small(), Instant(clock_ + 1h)};
            joined.watched = true;
            // Only a large worker meets both of two demands.
            (id % 2 == 0 ? joined.offers.memory_mb : joined.offers.disk_mb) += 9'000;
            if (id < pool.large) joined.offers = large();
            if (id < pool.large) *joined.leaves_at += pool.large_stay;
            std::vector<Action> actions;
            reactor_.on(joined, now(), actions);
        }
        ASSERT_EQ(reactor_.audit(), std::nullopt);
    }
    static Resources large() {
        Resources both = small();
        both.memory_mb += 9'000;
        both.disk_mb += 9'000;
        return both;
    }
    static Shape demanding() {
        Shape shape = cores(4);
        shape.needs.memory_mb = small().memory_mb + 5'000;
        shape.needs.disk_mb = small().disk_mb + 5'000;
        return shape;
    }

    // Submits and cancels `count` tasks one after the other; none of them starts.
    std::uint64_t looks_of_vain(const Shape& shape, std::uint64_t count) {
        const std::uint64_t before = reactor_.looks();
        for (std::uint64_t i = 0; i < count; ++i) {
            std::vector<Action> actions;
            const std::uint64_t task = reactor_.ledger().size();
            reactor_.on(TasksAdded{{TaskId(task), 1, shape, {}}, {}, {}}, now(), actions);
            EXPECT_TRUE(actions.empty());
            reactor_.on(CancelRequested{{task, task + 1}}, now(), actions);
        }
        return reactor_.looks() - before;
    }

    // The same if `shape` fits only large workers, and they are busy.
    std::uint64_t looks_where(const Pool& pool, const Shape& shape) {
        fill(pool);
        for (std::uint32_t id = 0; id < pool.large; ++id) add(1, shape);
        std::uint64_t leased = 0;
        take([&](const std::string&) { ++leased; });
        EXPECT_EQ(leased, pool.large);
        return looks_of_vain(shape, 100);
    }
};

TEST_F(LooksTest, AtWorkersThatAreAllTooSmall) {
    const std::uint64_t few = looks_where({10}, demanding());
    EXPECT_LE(looks_where({1000}, demanding()), few + 20);
}

TEST_F(LooksTest, WhereTheFewThatAreLargeEnoughAreBusy) {
    const std::uint64_t few = looks_where({10, 2}, demanding());
    EXPECT_LE(looks_where({1000, 2}, demanding()), few + 20);
    EXPECT_LE(looks_where({1000, 500}, demanding()), 100u * (1 + 8) + 20);
}

TEST_F(LooksTest, WhereTimeIsShort) {
    Shape longer = cores(4);
    longer.min_time = 2h;
    const std::uint64_t few = looks_where({10}, longer);
    EXPECT_LE(looks_where({1000}, longer), few);
    EXPECT_LE(looks_where({1000, 500, 2h}, longer), 100u * (2 + 8));
}

TEST_F(LooksTest, DemandsOfManySizes) {
    fill({1000});
    std::uint64_t before = reactor_.looks();
    for (std::int64_t more = 8'999; more > 7'999; --more) {
        Shape shape = cores(1);
        shape.needs.memory_mb = small().memory_mb + more;
        add(1, shape);
    }
    std::uint64_t leased = 0;
    take([&](const std::string&) { ++leased; });
    EXPECT_EQ(leased, 500u);  // one of each size fills one of the five hundred that have the memory
    EXPECT_LE(reactor_.looks() - before, 1000u * (1 + 8));
    before = reactor_.looks();
    for (std::int64_t more = 9'001; more < 9'101; ++more) {
        Shape shape = cores(1);
        shape.needs.memory_mb = small().memory_mb + more;
        looks_of_vain(shape, 1);
    }
    EXPECT_LE(reactor_.looks() - before, 100u * 3);
}

// Then kinds are not split any more: everything is found all the same.
TEST_F(LooksTest, DemandsOfDiskOfManySizes) {
    fill({100});
    for (std::int64_t more = 8'999; more > 8'900; --more) {
        Shape shape = cores(1);
        shape.needs.disk_mb = small().disk_mb + more;
        add(1, shape);
    }
    std::uint64_t leased = 0;
    take([&](const std::string&) { ++leased; });
    EXPECT_EQ(leased, 50u);
}

}  // namespace
}  // namespace wq::engine::policies
