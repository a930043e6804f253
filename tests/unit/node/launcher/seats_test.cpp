// What the manager says fits a worker together is also seated there.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/model/allocation.h"
#include "engine/model/worker_table.h"
#include "node/launcher/accounts.h"

namespace wq::node::launcher {
namespace {

Count thousandths(std::int64_t number) {
    return Count::of_thousandths(number);
}

machine::NodeSlice slice_with(std::size_t cores, std::size_t gpus) {
    machine::NodeSlice slice;
    for (std::size_t core = 0; core < cores; ++core) slice.cores.push_back({static_cast<int>(core)});
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) slice.gpus.push_back(std::to_string(gpu));
    slice.memory_mb = 7000;
    slice.disk_mb = 5000;
    return slice;
}

// How many of these an idle slice seats, and how many the manager reckons.
void compare(const engine::model::Needs& needs, std::size_t cores, std::size_t gpus) {
    const engine::model::Resources whole{static_cast<std::int64_t>(cores), 7000, 5000,
                                         static_cast<std::int64_t>(gpus)};
    for (const engine::model::Rest rest :
         {engine::model::Rest::with_cores, engine::model::Rest::proportional, engine::model::Rest::whole}) {
        if (!engine::model::ever_fits(needs, whole)) continue;
        const engine::model::Resources give = engine::model::allocate(needs, whole, {.rest = rest});
        const std::int64_t fit = engine::model::how_many_fit(give, whole);
        Accounts accounts(slice_with(cores, gpus));
        std::int64_t seated = 0;
        while (seated < fit && accounts.take(give)) ++seated;
        ASSERT_EQ(seated, fit) << engine::model::describe(needs) << " on " << engine::model::describe(whole);
        ASSERT_FALSE(accounts.take(give))
            << engine::model::describe(needs) << " on " << engine::model::describe(whole);
    }
}

TEST(SeatsOfAWorker, AreAsManyAsTheManagerReckonsByCores) {
    for (std::size_t cores = 1; cores <= 9; ++cores)
        for (std::int64_t each = 25; each <= 3000; each += 25)
            compare({.cores = thousandths(each)}, cores, 0);
}

TEST(SeatsOfAWorker, AreAsManyAsTheManagerReckonsByGpus) {
    for (std::size_t gpus = 1; gpus <= 5; ++gpus)
        for (std::int64_t each = 25; each <= 2500; each += 25) compare({.gpus = thousandths(each)}, 8, gpus);
}

TEST(SeatsOfAWorker, AreAsManyAsTheManagerReckonsByBoth) {
    for (std::size_t cores = 1; cores <= 5; ++cores)
        for (std::size_t gpus = 1; gpus <= 3; ++gpus)
            for (std::int64_t of_core = 100; of_core <= 2000; of_core += 100)
                for (std::int64_t of_gpu = 100; of_gpu <= 1500; of_gpu += 100)
                    compare({.cores = thousandths(of_core), .gpus = thousandths(of_gpu)}, cores, gpus);
}

// As tasks come and end, seen in one order by both, the manager knows what is left: it gives out what has a
// seat, and nothing that would wait for one.
TEST(SeatsOfAWorker, AreKnownToTheManagerAsTasksComeAndEnd) {
    constexpr std::int64_t cores = 5;
    constexpr std::int64_t gpus = 3;
    std::mt19937_64 random(5);
    const auto draw = [&](std::int64_t end) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    };
    const auto amount = [&](std::int64_t most) {
        return thousandths(draw(3) == 0 ? 1000 * draw(most) : 50 * draw(20 * most));
    };
    Accounts accounts(slice_with(cores, gpus));
    engine::model::WorkerTable table;
    const engine::model::Resources whole{cores, 7000, 5000, gpus};
    engine::model::Worker& worker = table.add({WorkerId(1), "node1", whole, {}}, {});
    std::map<TaskId, std::pair<engine::model::Resources, Holding>> running;
    int refused = 0;
    for (std::uint64_t task = 0; task < 20'000; ++task) {
        const engine::model::Resources give{amount(3), 0, 0, amount(2)};
        const auto holding = accounts.take(give);
        ASSERT_EQ(worker.fits(give), holding.has_value()) << engine::model::describe(give);
        if (holding) {
            table.lease(worker, TaskId(task), give);
            running.emplace(TaskId(task), std::pair(give, *holding));
        }
        refused += holding ? 0 : 1;
        while (!running.empty() && draw(3) == 0) {
            const auto ends = std::next(running.begin(), draw(static_cast<std::int64_t>(running.size())));
            accounts.give_back(ends->second.second);
            table.release(worker, ends->first, ends->second.first);
            running.erase(ends);
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_LT(refused, 19'000);
}

// Halves that were left on two GPUs are no whole one: who waits for one holds up no one.
TEST(SeatsOfAWorker, AHeadWithoutASeatKeepsOnlyWhatItNeeds) {
    Accounts accounts(slice_with(4, 2));
    const engine::model::Resources half{0, 0, 0, thousandths(500)};
    const auto first = accounts.take(half);
    const auto second = accounts.take(half);
    const auto third = accounts.take(half);
    ASSERT_TRUE(first && second && third);
    accounts.give_back(*first);
    const engine::model::Resources head{1, 0, 0, 1};
    ASSERT_FALSE(accounts.take(head));
    EXPECT_FALSE(accounts.take_behind(head, half));
    EXPECT_FALSE(accounts.take_behind(head, {4, 0, 0, 0}));
    EXPECT_TRUE(accounts.take_behind(head, {3, 0, 0, 0}));
    EXPECT_FALSE(accounts.take_behind(head, {1, 0, 0, 0}));
    accounts.give_back(*second);
    accounts.give_back(*third);
    EXPECT_TRUE(accounts.take(head));
}

}  // namespace
}  // namespace wq::node::launcher
