// The lock, signs of life and the clock, by each way to a list.
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "shared_list/store/list_place.h"
#include "stores.h"

namespace wq::shared_list::store {
namespace {

using namespace std::chrono_literals;
using test::read_file;

class Life : public EveryWay {
  protected:
    // Until a process waits for the lock on this file, or `over`.
    static void wait_for_waiter(const std::string& path, const std::atomic<bool>& over) {
        const std::string inode = ":" + std::to_string(stat_of(path).value().st_ino) + " ";
        for (bool waits = false; !waits && !over; poll(nullptr, 0, 2)) {
            std::istringstream locks(read_file("/proc/locks"));
            for (std::string line; std::getline(locks, line);)
                waits =
                    waits || (line.find("->") != std::string::npos && line.find(inode) != std::string::npos);
        }
    }
    static Duration youngest(ListStore& store, text::WorkerId worker) {
        const auto signs = store.signs();
        Duration age = Duration::max();
        for (const Sign& sign : signs.ok() ? *signs : std::vector<Sign>{})
            if (sign.worker == worker) age = std::min(age, sign.age);
        return age;
    }
};

TEST_P(Life, TheLockIsHeldUntilTheObjectIsGone) {
    auto store = opened(list());
    version(*store);
    EXPECT_FALSE(is_locked(list() + ".lock"));
    auto held = store->hold();
    ASSERT_TRUE(held.ok()) << held.error().message;
    EXPECT_TRUE(is_locked(list() + ".lock"));
    held->reset();
    EXPECT_FALSE(is_locked(list() + ".lock"));
    version(*store);
}

TEST_P(Life, WhoWaitsForTheLockSaysSoOnceAndThenGoesOn) {
    auto store = opened(list());
    const Version known = version(*store);
    auto other = masters_.store(Way::local, list(), {});
    ASSERT_TRUE(other->open().ok());
    auto held = other->hold();
    ASSERT_TRUE(held.ok());
    Answer answer;
    std::thread waits([&] { answer = ask(*store, append(known, "record\n")); });
    heard_.wait_for(1);
    EXPECT_EQ(read_file(list() + ".runtask/edits"), "LOG " + known.log + "\n");
    held->reset();
    waits.join();
    EXPECT_TRUE(answer.changed);
    const auto lines = heard_.lines();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find("waiting for the lock"), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("runtask --lock"), std::string::npos) << lines[0];
    EXPECT_NE(lines[1].find("got the lock"), std::string::npos) << lines[1];
}

TEST_P(Life, WhoWaitsForTheLockGivesSignsMeanwhile) {
    if (GetParam() == Way::bare) GTEST_SKIP() << "its flock waits without an end";
    auto store = opened(list());
    const Version known = version(*store);
    ASSERT_TRUE(store->beat(3, 2s).ok());
    ASSERT_TRUE(store->beat(4, 90s).ok());
    ASSERT_TRUE(store->beat(5, 90s).ok());
    ASSERT_TRUE(store->remove_sign(4).ok());
    std::atomic<int> told = 0;
    Instant given{};
    store->on_signs([&](Instant at) {
        EXPECT_GT(at, given);
        given = at;
        ++told;
    });
    auto other = opened(Way::local, list());
    auto held = other->hold();
    ASSERT_TRUE(held.ok());
    std::thread waits([&] { EXPECT_TRUE(ask(*store, append(known, "record\n")).changed); });
    const std::string sign = list() + ".runtask/alive/3";
    for (int i = 0; i < 2; ++i) {
        std::filesystem::last_write_time(sign, std::filesystem::file_time_type::clock::now() - 1h);
        EXPECT_TRUE(comes_in_time([&] { return youngest(*other, 3) < 1s; })) << i;
    }
    EXPECT_TRUE(comes_in_time([&] { return told > 0; }));
    held->reset();
    waits.join();
    EXPECT_EQ(read_file(sign), "2                   \n");
    EXPECT_EQ(read_file(list() + ".runtask/alive/5"), "90                  \n");
    EXPECT_FALSE(std::filesystem::exists(list() + ".runtask/alive/4"));
}

TEST_P(Life, ALockFileThatIsReplacedWhileSomebodyWaitsForItIsLockedAnew) {
    auto store = opened(list());
    const Version known = version(*store);
    auto other = opened(Way::local, list());
    auto first = other->hold();
    ASSERT_TRUE(first.ok());
    std::atomic<bool> over = false;
    std::thread thread([&] {
        EXPECT_TRUE(ask(*store, append(known, "record\n")).changed);
        over = true;
    });
    wait_for_waiter(list() + ".lock", over);
    std::filesystem::remove(list() + ".lock");
    auto second = other->hold();
    EXPECT_TRUE(second.ok());
    first->reset();
    wait_for_waiter(list() + ".lock", over);
    EXPECT_FALSE(over);
    second->reset();
    thread.join();
}

TEST_P(Life, ManyAppendAtOnceAndEachRecordIsThereOnce) {
    opened(list());
    constexpr int workers = 4;
    constexpr int records = is_long ? 15 : 5;
    std::vector<std::unique_ptr<ListStore>> stores;
    for (int i = 0; i < workers; ++i)
        stores.push_back(opened(i % 2 == 0 || GetParam() == Way::bare ? GetParam() : Way::local, list()));
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i)
        threads.emplace_back([&, i] {
            Version known = version(*stores[static_cast<std::size_t>(i)]);
            for (int k = 0; k < records;) {
                const Answer answer =
                    ask(*stores[static_cast<std::size_t>(i)],
                        append(known, "record " + std::to_string(i) + "-" + std::to_string(k) + "\n"));
                if (answer.changed) ++k;
                known = answer.now;
            }
        });
    for (std::thread& thread : threads) thread.join();
    const std::string log = read_file(list() + ".runtask/edits");
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1 + workers * records);
    for (int i = 0; i < workers; ++i)
        for (int k = 0; k < records; ++k)
            EXPECT_NE(log.find("\nrecord " + std::to_string(i) + "-" + std::to_string(k) + "\n"),
                      std::string::npos);
}

TEST_P(Life, SignsHaveAnAgeAndALease) {
    auto store = opened(list());
    auto signs = store->signs();
    ASSERT_TRUE(signs.ok());
    EXPECT_TRUE(signs->empty());
    ASSERT_TRUE(store->beat(3, 90s).ok());
    ASSERT_TRUE(store->beat(12, 1500ms).ok());
    ASSERT_TRUE(store->beat(0, 0s).ok());
    ASSERT_TRUE(store->beat(3, 7s).ok());
    std::filesystem::last_write_time(list() + ".runtask/alive/12",
                                     std::filesystem::file_time_type::clock::now() - 100s);
    if (GetParam() == Way::bare) GTEST_SKIP() << "a master without stat has no ages of files";
    signs = store->signs();
    ASSERT_TRUE(signs.ok()) << signs.error().message;
    ASSERT_EQ(signs->size(), 3U);
    std::sort(signs->begin(), signs->end(), [](const Sign& a, const Sign& b) { return a.worker < b.worker; });
    EXPECT_EQ(signs->at(0).worker, 0U);
    EXPECT_EQ(signs->at(0).lease, 0s);
    EXPECT_EQ(signs->at(1).worker, 3U);
    EXPECT_EQ(signs->at(1).lease, 7s);
    EXPECT_LT(signs->at(1).age, 30s);
    EXPECT_EQ(signs->at(2).lease, 2s);
    EXPECT_GE(signs->at(2).age, 99s);
    EXPECT_LT(signs->at(2).age, 130s);
    EXPECT_TRUE(store->remove_sign(3).ok());
    EXPECT_TRUE(store->remove_sign(77).ok());
    EXPECT_EQ(store->signs()->size(), 2U);
    version(*store);  // the connection is where it was
}

TEST_P(Life, ASignIsWrittenAlsoIfTheFolderWasRemoved) {
    auto store = opened(list());
    std::filesystem::remove_all(list() + ".runtask");
    EXPECT_TRUE(store->beat(3, 90s).ok());
    EXPECT_EQ(read_file(list() + ".runtask/alive/3"), "90                  \n");
}

TEST_P(Life, TheClockOfTheMaster) {
    setenv("TZ", "XYZ-5:30", 1);
    auto store = opened(list());
    const auto time = store->time();
    unsetenv("TZ");
    ASSERT_TRUE(time.ok()) << time.error().message;
    EXPECT_LT(std::abs(time->now - wall_now()), 10 * micros_per_second);
    if (GetParam() != Way::ssh) {
        EXPECT_EQ(time->east_of_utc, 5h + 30min);
    }
}

WQ_EVERY_WAY(Life);

}  // namespace
}  // namespace wq::shared_list::store
