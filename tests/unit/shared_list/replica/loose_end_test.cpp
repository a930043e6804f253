// A list whose last line has no line end: somebody may be writing it, or writes none ever.
#include "shared_list/replica/list_copy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <random>

#include "shared_list/replica/line_taker.h"
#include "shared_list/store/local_store.h"
#include "support/folder.h"
#include "support/memory_store.h"
#include "support/some_of.h"

namespace {

using namespace wq;
using namespace wq::shared_list::text;
using namespace std::chrono_literals;
using shared_list::replica::LineTaker;
using shared_list::replica::LooseEnd;
using shared_list::replica::SharedList;
using wq::testing::MemoryMaster;
using wq::testing::MemoryStore;

struct FakeClock {
    Instant now{1h};
    std::function<Instant()> read() {
        return [this] { return now; };
    }
};

// A worker whose time is the test's.
template <class Store>
struct TimedWorker {
    template <class... Args>
    explicit TimedWorker(FakeClock& clock, Args&&... of_store)
        : store(std::forward<Args>(of_store)...),
          list(
              store, [](const std::string&) {}, clock.read()) {}

    // Ends what it runs, and takes the next line. Returns its command; "": none.
    std::string step() {
        if (!taker && !join()) return "error";
        if (!begun.empty()) taker->add_end({list.place(id), id, begun, {}, TryEnd::ok, 0, command});
        begun.clear();
        constexpr bool may_begin = true;
        const auto next = taker->step(may_begin);
        if (!next) return "error";
        if (!*next) return "";
        begun = list.list().line((*next)->number).tries.back().begun;
        return command = list.list().line((*next)->number).command;
    }
    bool join() {
        if (!list.open()) return false;
        const auto joined = list.join("host", std::nullopt);
        if (!joined || !store.beat(*joined, 60s)) return false;
        taker.emplace(list, id = *joined);
        return true;
    }

    Store store;
    SharedList list;
    std::optional<LineTaker> taker;
    WorkerId id = 0;
    std::string begun, command;
};

using LocalTimedWorker = TimedWorker<shared_list::store::LocalStore>;
using MemoryWorker = TimedWorker<MemoryStore>;

class Loose : public ::testing::Test {
  protected:
    // Somebody who has the list open.
    void write(const std::string& more) { master.file += more; }
    static std::size_t count(const std::string& text, const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
        return found;
    }

    MemoryMaster master;
    FakeClock clock;
    MemoryWorker worker{clock, master};
};

TEST_F(Loose, ALineThatIsWrittenInTwoPartsIsOneTask) {
    master.file = "echo one\necho tw";
    EXPECT_EQ(worker.step(), "echo one");
    EXPECT_EQ(worker.step(), "");
    EXPECT_TRUE(worker.list.has_unfinished_line());
    EXPECT_TRUE(worker.list.settle());
    EXPECT_EQ(master.file, "echo one\necho tw") << "it was replaced, while its writer has it open";
    write("o-end\necho three\n");
    EXPECT_EQ(worker.step(), "echo two-end");
    EXPECT_FALSE(worker.list.has_unfinished_line());
    EXPECT_EQ(worker.step(), "echo three");
    EXPECT_EQ(worker.step(), "");
    EXPECT_EQ(count(master.file, "#ok"), 3U) << master.file;
    EXPECT_EQ(count(master.file, "echo"), 3U) << master.file;
}

TEST_F(Loose, ItsLastLineRunsInTheEnd) {
    master.file = "a\nb";
    EXPECT_EQ(worker.step(), "a");
    EXPECT_EQ(worker.step(), "");
    ASSERT_TRUE(worker.list.unsettled());
    clock.now = *worker.list.unsettled() - 1ms;
    ASSERT_TRUE(worker.list.settle());
    EXPECT_EQ(worker.step(), "");
    clock.now += 1ms;
    ASSERT_TRUE(worker.list.settle());
    EXPECT_FALSE(worker.list.has_unfinished_line());
    EXPECT_EQ(worker.step(), "b");
    EXPECT_EQ(worker.step(), "");
    EXPECT_EQ(count(master.file, "#ok"), 2U) << master.file;
}

// Finished lines that a user has removed leave their marks in the log.
TEST_F(Loose, WhatIsWrittenInPartsIsNotTakenForLinesThatWereRemoved) {
    master.file = "same\nsame\n";
    EXPECT_EQ(worker.step(), "same");
    EXPECT_EQ(worker.step(), "same");
    EXPECT_EQ(worker.step(), "");
    ASSERT_TRUE(worker.list.settle());
    master.edit("# tidied\n");
    EXPECT_EQ(worker.step(), "");
    write("same\nsa");
    EXPECT_EQ(worker.step(), "same");
    EXPECT_EQ(worker.step(), "");
    write("me\n");
    EXPECT_EQ(worker.step(), "same") << master.file;
    EXPECT_EQ(worker.step(), "");
    ASSERT_TRUE(worker.list.settle());
    EXPECT_EQ(count(master.file, "#ok"), 2U) << master.file;
}

TEST_F(Loose, WaitsForTheLastOfManyChanges) {
    master.file = "a";
    EXPECT_EQ(worker.step(), "");
    for (int part = 0; part < 5; ++part) {
        clock.now += 1500ms;
        write("a");
        ASSERT_TRUE(worker.list.refresh());
        EXPECT_EQ(worker.step(), "");
    }
    clock.now += 2s;
    ASSERT_TRUE(worker.list.settle());
    EXPECT_EQ(worker.step(), "aaaaaa");
}

TEST_F(Loose, WhoHasNotSeenThePartTakesNoLineTwice) {
    master.file = "x\n";
    MemoryWorker other(clock, master);
    ASSERT_TRUE(worker.join());
    ASSERT_TRUE(other.join());
    ASSERT_TRUE(worker.list.refresh());
    write("y\nz");
    EXPECT_EQ(worker.step(), "x");
    EXPECT_EQ(worker.step(), "y");
    write("z\n");
    EXPECT_EQ(other.step(), "zz");
    EXPECT_EQ(worker.step(), "");
    EXPECT_EQ(other.step(), "");
    EXPECT_EQ(count(master.file, "#ok"), 3U) << master.file;
}

TEST_F(Loose, WhoHasSeenAPartTakesNoLineTwice) {
    master.file = "x\n";
    MemoryWorker other(clock, master);
    ASSERT_TRUE(worker.join());
    ASSERT_TRUE(other.join());
    ASSERT_TRUE(worker.list.refresh());
    write("y\nz");
    ASSERT_TRUE(worker.list.refresh());
    write("z\n");
    ASSERT_TRUE(other.list.refresh());
    std::map<std::string, int> begun;
    for (int i = 0; i < 3; ++i) {
        ++begun[worker.step()];
        ++begun[other.step()];
    }
    EXPECT_EQ(begun, (std::map<std::string, int>{{"", 3}, {"x", 1}, {"y", 1}, {"zz", 1}}));
    ASSERT_TRUE(worker.list.refresh());
    EXPECT_EQ(worker.list.list().bytes(), master.file);
}

TEST_F(Loose, IsNotReset) {
    master.file = "a\nb";
    ASSERT_TRUE(worker.list.open());
    const Status done = worker.list.replace([](const Document& list) { return list.bytes(); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message,
              "list: somebody may be writing the last line, which has no line end; end it with a newline, or "
              "try again in some seconds");
    EXPECT_FALSE(worker.list.forget());
    EXPECT_EQ(master.file, "a\nb");
    clock.now += 2s;
    EXPECT_TRUE(worker.list.replace([](const Document& list) { return list.bytes(); }));
    EXPECT_EQ(master.file, "a\nb");
}

TEST_F(Loose, SettlingPreventsALateChangeWithoutReplacingTheList) {
    master.file = "a\nb\nc";
    EXPECT_EQ(worker.step(), "a");
    worker.store.fault = MemoryStore::Fault::lost_before;
    EXPECT_EQ(worker.step(), "error");
    const std::string log = master.log;
    ASSERT_TRUE(worker.list.settle());
    EXPECT_GT(master.log.size(), log.size()) << "what was sent may still be made";
    EXPECT_EQ(worker.step(), "b");
    EXPECT_EQ(master.file, "a\nb\nc");
}

TEST_F(Loose, AListThatWasWrittenLongAgoIsWhole) {
    const test::Folder folder;
    const std::string file = folder / "tasks.sh";
    test::write_file(file, "a\nb");
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - 10s);
    LocalTimedWorker local(clock, file, nullptr);
    EXPECT_EQ(local.step(), "a");
    EXPECT_EQ(local.step(), "b");
}

TEST_F(Loose, AListThatIsWrittenToOnDiskIsNotReplaced) {
    const test::Folder folder;
    const std::string file = folder / "tasks.sh";
    test::write_file(file, "a\nb");
    std::ofstream writer(file, std::ios::app);
    LocalTimedWorker local(clock, file, nullptr);
    EXPECT_EQ(local.step(), "a");
    EXPECT_EQ(local.step(), "");
    writer << "b\n" << std::flush;
    EXPECT_EQ(local.step(), "bb");
    EXPECT_EQ(local.step(), "");
    EXPECT_TRUE(local.list.settle());
    EXPECT_EQ(count(test::read_file(file), "#ok"), 2U) << test::read_file(file);
}

TEST(LooseEnd, KnowsTheTimeOfAChange) {
    EXPECT_EQ(shared_list::replica::changed_at("12 34 1732605897.123456789"), 1732605897 * micros_per_second);
    EXPECT_EQ(shared_list::replica::changed_at("12 34 c1732605.0"), std::nullopt);
    EXPECT_EQ(shared_list::replica::changed_at("12 34"), std::nullopt);
    EXPECT_EQ(shared_list::replica::changed_at(""), std::nullopt);
}

TEST(LooseEnd, OfAClockThatIsAheadIsWaitedFor) {
    LooseEnd end;
    end.read("1", "a\nb", -10h, Instant(1h));
    EXPECT_TRUE(end.is_written("1", Instant(1h + 1999ms)));
    EXPECT_FALSE(end.is_written("1", Instant(1h + 2s)));
    EXPECT_FALSE(end.is_written("2", Instant(1h)));
}

// A writer that flushes parts of lines, workers that lose answers: each line runs once and whole.
TEST(LooseEnd, LinesThatAreWrittenInPartsRunOnceAndWhole) {
    for (unsigned seed = 0; seed < static_cast<unsigned>(test::some_of(100)); ++seed) {
        std::mt19937_64 random(seed);
        MemoryMaster master;
        FakeClock clock;
        std::vector<std::unique_ptr<MemoryWorker>> workers;
        for (int i = 0; i < 3; ++i) workers.push_back(std::make_unique<MemoryWorker>(clock, master));
        std::string text;
        for (int i = 0; i < 40; ++i) text += "task-" + std::to_string(i) + "-end\n";
        std::map<std::string, int> begun;
        const auto step = [&](MemoryWorker& one) {
            if (random() % 9 == 0) one.store.fault = static_cast<MemoryStore::Fault>(1 + random() % 4);
            const std::string command = one.step();
            if (!command.empty() && command != "error") ++begun[command];
        };
        while (!text.empty()) {
            const std::size_t bytes = std::min<std::size_t>(text.size(), 1 + random() % 30);
            master.file += text.substr(0, bytes);
            text.erase(0, bytes);
            for (std::uint64_t i = random() % 5; i > 0; --i) step(*workers[random() % 3]);
            if (random() % 3 == 0) std::ignore = workers[random() % 3]->list.settle();
            clock.now += std::chrono::milliseconds(random() % 1900);
        }
        for (auto& one : workers) one->store.fault = MemoryStore::Fault::none;
        for (int i = 0; i < 60; ++i) {
            for (auto& one : workers) {
                const std::string command = one->step();
                ASSERT_NE(command, "error") << seed;
                if (!command.empty()) ++begun[command];
            }
        }
        for (const auto& [command, times] : begun) EXPECT_EQ(times, 1) << seed << " " << command;
        EXPECT_EQ(begun.size(), 40U) << seed << "\n" << master.file;
    }
}

}  // namespace
