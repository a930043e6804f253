#include "shared_list/replica/shared_list.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <regex>
#include <tuple>

#include "shared_list/replica/list_copy.h"
#include "shared_list/text/choice.h"
#include "support/memory_store.h"
#include "support/some_of.h"

namespace {

using namespace wq;
using namespace wq::shared_list::replica;
using namespace wq::shared_list::text;
using wq::testing::MemoryMaster;
using wq::testing::MemoryStore;

// One worker, as the program is: joins, takes, ends.
class Worker {
  public:
    explicit Worker(MemoryMaster& master)
        : store(master), list(store, [this](const std::string& line) { said += line; }) {}

    Status open() {
        if (auto opened = list.open(); !opened) return opened;
        const auto joined = list.join("host", std::nullopt);
        if (!joined) return joined.error();
        id = *joined;
        return store.beat(id, std::chrono::seconds(60));
    }

    // Ends what it runs, and takes the next line. Returns the command that it begins; "": none.
    Result<std::string> step(TryEnd end = TryEnd::ok) {
        const auto made = list.change("step", [&](const Document& lines) {
            std::vector<Edit> edits;
            if (running) edits.push_back(end_of(*running, end));
            if (const auto choice = choose(lines, id, 0))
                edits.push_back(Take{choice->number, id, next_stamp(), lines.line(choice->number).command});
            return edits;
        });
        if (!made) return made.error();
        running.reset();
        for (const Edit& edit : *made) {
            if (const auto* take = std::get_if<Take>(&edit)) running = *take;
        }
        return running ? running->searched : std::string();
    }

    // Each mark has its own time, as those of one worker have in a real list.
    std::string next_stamp() {
        static int seconds = 0;
        ++seconds;
        const auto two = [](int n) { return std::string(n < 10 ? "0" : "") + std::to_string(n); };
        return "01-" + two(1 + seconds / 86400 % 28) + " " + two(seconds / 3600 % 24) + ":" +
               two(seconds / 60 % 60) + ":" + two(seconds % 60);
    }
    Edit end_of(const Take& take, TryEnd end) {
        return End{take.number,  take.worker, take.stamp, next_stamp(), end, end == TryEnd::error ? 1 : 0,
                   take.searched};
    }

    // Also lines that the worker began without learning it.
    std::vector<Edit> release(const Document& lines, WorkerId lost) {
        std::vector<Edit> edits;
        for (const std::uint64_t number : lines.live_lines()) {
            const MarkedLine& line = lines.line(number);
            if (line.kind == LineKind::running && line.tries.back().worker == lost)
                edits.push_back(end_of({number, lost, line.tries.back().begun, line.command}, TryEnd::lost));
        }
        return edits;
    }

    MemoryStore store;
    SharedList list;
    WorkerId id = 0;
    std::optional<Take> running;
    std::string said;
};

// Times are masked.
std::string masked(const std::string& text) {
    return std::regex_replace(text, std::regex("01-01 \\d\\d:\\d\\d:\\d\\d"), "T");
}

std::string tasks(int count) {
    std::string text;
    for (int at = 0; at < count; ++at) text += "task" + std::to_string(at) + "\n";
    return text;
}

TEST(SharedList, IsMarkedInTheFile) {
    MemoryMaster master;
    master.file = "a\nb\n";
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    EXPECT_EQ(*worker.step(), "a");
    EXPECT_EQ(*worker.step(TryEnd::error), "b");
    EXPECT_EQ(*worker.step(), "");
    EXPECT_EQ(masked(master.file),
              "#LASTWORKER 0\na # worker 0 # (T ... T) #error1\n#b # worker 0 # (T ... T) #ok\n# worker 0: "
              "host (T)\n");
    EXPECT_FALSE(worker.list.unsettled());
}

TEST(SharedList, IsFollowedWithoutReadingTheFileAgain) {
    MemoryMaster master;
    master.file = tasks(50);
    Worker first(master), second(master);
    ASSERT_TRUE(first.open());
    ASSERT_TRUE(second.open());
    const std::uint64_t sent = second.store.files_sent;
    std::map<std::string, int> begun;
    for (int at = 0; at < 26; ++at) {
        ++begun[*first.step()];
        ++begun[*second.step()];
    }
    begun.erase("");
    EXPECT_EQ(begun.size(), 50U);
    for (const auto& [task, times] : begun) EXPECT_EQ(times, 1) << task;
    EXPECT_EQ(first.store.files_sent + second.store.files_sent, sent + 1);
    EXPECT_GT(first.store.conflicts + second.store.conflicts, 0U);
    EXPECT_EQ(first.list.list().audit(), "");
    ASSERT_TRUE(first.list.refresh());
    EXPECT_EQ(first.list.list().bytes(), master.file);
}

TEST(SharedList, AppendedLinesDoNotMakeOthersReadTheFile) {
    MemoryMaster master;
    master.file = tasks(3);
    Worker first(master), second(master);
    ASSERT_TRUE(first.open());
    ASSERT_TRUE(second.open());
    ASSERT_TRUE(first.list.refresh());
    master.edit(master.file + "more\n");
    ASSERT_TRUE(first.list.refresh());
    const std::uint64_t sent = second.store.files_sent;
    ASSERT_TRUE(second.list.refresh());
    EXPECT_EQ(second.store.files_sent, sent);
    EXPECT_EQ(second.list.list().bytes(), master.file);
}

TEST(SharedList, TakesLinesThatWereAppendedToAReplacedFile) {
    MemoryMaster master;
    master.file = tasks(1);
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    master.old.push_back({"1.20", "late\n"});
    ASSERT_TRUE(worker.list.refresh());
    EXPECT_TRUE(master.old.empty());
    EXPECT_EQ(*worker.step(), "task0");
    EXPECT_EQ(*worker.step(), "late");
}

TEST(SharedList, ALineOfAReplacedFileIsTakenAlsoIfTheSameStandsElsewhere) {
    MemoryMaster master;
    master.file = "same\n";
    Worker worker(master);
    worker.store.rewriting = std::chrono::hours(1);
    ASSERT_TRUE(worker.open());
    EXPECT_EQ(*worker.step(), "same");
    EXPECT_EQ(*worker.step(), "");
    ASSERT_TRUE(worker.list.settle());
    master.old.push_back({"1.20-25", "same\n"});
    ASSERT_TRUE(worker.list.refresh());
    ASSERT_TRUE(worker.list.unsettled());
    master.edit(master.file + "y\n");
    EXPECT_EQ(*worker.step(), "y");
    EXPECT_EQ(*worker.step(), "same");
    EXPECT_EQ(*worker.step(), "");
}

TEST(SharedList, LinesOfAReplacedFileAreTakenOnceAlsoIfTheirWriterDies) {
    MemoryMaster master;
    master.file = tasks(1);
    Worker worker(master), other(master);
    ASSERT_TRUE(worker.open());
    ASSERT_TRUE(other.open());
    master.old.push_back({"1.20-25", "late\n"});
    worker.store.fault = MemoryStore::Fault::dies_before_copied;
    ASSERT_FALSE(worker.list.refresh());
    master.old.front() = {"1.20-31", "late\nlater\n"};
    ASSERT_TRUE(other.list.refresh());
    EXPECT_TRUE(master.old.empty());
    ASSERT_TRUE(worker.list.refresh());
    for (const char* const command : {"task0", "late", "later", ""}) EXPECT_EQ(*other.step(), command);
}

TEST(SharedList, AnEditorsOldCopyUndoesNothingWhileWorkersLive) {
    MemoryMaster master;
    master.file = tasks(4);
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    ASSERT_EQ(*worker.step(), "task0");
    const std::string read = master.file;
    ASSERT_EQ(*worker.step(), "task1");
    master.edit(read + "added\n");
    EXPECT_EQ(*worker.step(), "task2");
    EXPECT_EQ(worker.list.list().line(2).kind, LineKind::done);
    EXPECT_EQ(worker.list.list().line(3).kind, LineKind::done);
    EXPECT_NE(master.file.find("\nadded\n"), std::string::npos);
}

// Tasks so long that logs are soon renewed.
std::string long_tasks(int count) {
    std::string text;
    for (int at = 0; at < count; ++at)
        text += "task" + std::to_string(at) + " " + std::string(100'000, 'x') + "\n";
    return text;
}

// Runs lines until so many logs have begun; the file as it was before.
std::string run_until(Worker& worker, MemoryMaster& master, std::uint64_t logs) {
    EXPECT_TRUE(worker.open());
    const std::string before = master.file;
    while (master.logs < logs) {
        const auto command = worker.step();
        EXPECT_TRUE(command && !command->empty());
        EXPECT_TRUE(worker.list.settle());
    }
    return before;
}

// What `sed -i '/#ok$/d'` does.
std::string without_finished(const std::string& list) {
    std::string text;
    for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = list.find('\n', at) + 1;
        const std::string line = list.substr(at, end - at);
        if (!line.ends_with("#ok\n")) text += line;
        at = end;
    }
    return text;
}

TEST(SharedList, FinishedLinesThatAreRemovedStayRemoved) {
    MemoryMaster master;
    master.file = "same\nother\nsame\nsame\n";
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    for (const char* const command : {"same", "other", "same"}) ASSERT_EQ(*worker.step(), command);
    const std::string tidy = without_finished(master.file);
    master.edit(tidy);
    ASSERT_TRUE(worker.list.refresh());
    EXPECT_EQ(worker.list.list().bytes(), tidy);
    Worker next(master);
    ASSERT_TRUE(next.open());
    EXPECT_EQ(*worker.step(), "same");
    EXPECT_EQ(*worker.step(), "");
    master.edit(without_finished(master.file));
    Worker last(master);  // which did not know the list before
    ASSERT_TRUE(last.open());
    EXPECT_EQ(master.file.find("same"), std::string::npos) << master.file;
    EXPECT_EQ(master.file.find("other"), std::string::npos) << master.file;
}

TEST(SharedList, AnEditorsCopyMayBeAsOldAsTheLogBefore) {
    MemoryMaster master;
    master.file = long_tasks(60);
    Worker worker(master);
    const std::string old = run_until(worker, master, 2);
    const std::string next = worker.running->searched;
    master.edit(old + "added\n");
    ASSERT_TRUE(worker.list.refresh());
    EXPECT_EQ(master.aside.size(), 0U);
    for (std::uint64_t at = 2; worker.list.list().line(at).command != next; ++at)
        EXPECT_EQ(worker.list.list().line(at).kind, LineKind::done) << at;
    EXPECT_NE(master.file.find("\nadded\n"), std::string::npos);
}

TEST(SharedList, AnEditorsCopyThatIsOlderThanAllThatIsKnownIsPutAside) {
    MemoryMaster master;
    master.file = long_tasks(80);
    Worker worker(master);
    const std::string old = run_until(worker, master, 4);
    const std::string known = master.file;
    master.edit(old + "added\n");
    Worker other(master);
    const Status opened = other.list.open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("old copy"), std::string::npos) << opened.error().message;
    ASSERT_TRUE(worker.list.refresh());
    EXPECT_EQ(master.file, known);
    ASSERT_EQ(master.aside.size(), 1U);
    EXPECT_EQ(master.aside.begin()->second, old + "added\n");
    EXPECT_NE(worker.said.find("the copy is list." + master.aside.begin()->first), std::string::npos)
        << worker.said;
    ASSERT_TRUE(other.open());
    EXPECT_EQ(other.list.list().line(2).kind, LineKind::done);
}

TEST(SharedList, AListThatWasResetWhileNobodyLivesStaysReset) {
    MemoryMaster master;
    master.file = tasks(2);
    {
        Worker worker(master);
        ASSERT_TRUE(worker.open());
        ASSERT_EQ(*worker.step(), "task0");
        ASSERT_EQ(*worker.step(), "task1");
        ASSERT_TRUE(worker.store.remove_sign(worker.id));
    }
    master.edit(tasks(2));
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    EXPECT_EQ(*worker.step(), "task0");
}

TEST(SharedList, WhatWasNeverWrittenToTheFileIsNotLost) {
    MemoryMaster master;
    master.file = tasks(2);
    {
        Worker worker(master);
        ASSERT_TRUE(worker.open());
        worker.store.fault = MemoryStore::Fault::dies_before_rename;
        ASSERT_FALSE(worker.step());
        ASSERT_TRUE(worker.store.remove_sign(worker.id));
    }
    Worker next(master);
    ASSERT_TRUE(next.open());
    EXPECT_EQ(*next.step(), "task1");
}

TEST(SharedList, AChangeWhoseAnswerWasLostIsMadeOnce) {
    for (const auto fault :
         {MemoryStore::Fault::lost_before, MemoryStore::Fault::lost_after, MemoryStore::Fault::late}) {
        MemoryMaster master;
        master.file = tasks(3);
        Worker worker(master);
        ASSERT_TRUE(worker.open());
        ASSERT_EQ(*worker.step(), "task0");
        worker.store.fault = fault;
        EXPECT_FALSE(worker.step());
        EXPECT_EQ(*worker.step(), "task1");
        EXPECT_EQ(*worker.step(), "task2");
        EXPECT_EQ(*worker.step(), "");
        EXPECT_EQ(master.file.find("#?line"), std::string::npos) << master.file;
    }
}

TEST(SharedList, ALockThatDoesNotLockIsNoticed) {
    MemoryMaster master;
    master.file = tasks(2);
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    const std::string log = master.log;
    ASSERT_TRUE(worker.step());
    master.log += log.substr(log.find('\n', log.find("join") - 30) + 1);
    EXPECT_FALSE(worker.list.lock_failed());
    const auto looked = worker.list.refresh();
    ASSERT_FALSE(looked);
    EXPECT_TRUE(worker.list.lock_failed());
    EXPECT_NE(looked.error().message.find("does not lock"), std::string::npos);
}

TEST(SharedList, IsReadAnewIfARecordWasNotRead) {
    MemoryMaster master;
    master.file = tasks(3);
    Worker worker(master), other(master);
    ASSERT_TRUE(worker.open());
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(worker.step());
    const std::size_t begin = master.log.size();
    ASSERT_TRUE(worker.step());
    master.log[begin + 10] ^= 1;
    ASSERT_TRUE(worker.step());
    ASSERT_TRUE(other.list.refresh());
    EXPECT_EQ(other.list.list().bytes(), master.file);
}

TEST(SharedList, PlacesFollowAlsoIfTheListIsReadAnew) {
    MemoryMaster master;
    master.file = tasks(3);
    Worker worker(master), other(master);
    ASSERT_TRUE(worker.list.open());
    worker.list.move_to(2);
    ASSERT_TRUE(other.open());
    master.edit("new\n" + master.file);
    ASSERT_TRUE(other.list.refresh());
    ASSERT_TRUE(worker.list.refresh());
    EXPECT_EQ(worker.list.list().line(worker.list.place()).command, "task1");
}

TEST(SharedList, AnEarlierFileThatComesBackIsAnEditedList) {
    MemoryMaster master;
    master.file = tasks(3);
    Worker worker(master), other(master);
    ASSERT_TRUE(worker.open());
    ASSERT_TRUE(other.open());
    ASSERT_EQ(*worker.step(), "task0");
    const auto before = std::pair(master.file, master.inode);
    master.edit("new\n" + master.file);
    ASSERT_EQ(*worker.step(), "new");
    ASSERT_EQ(*worker.step(), "task1");
    std::tie(master.file, master.inode) = before;
    ASSERT_EQ(*worker.step(), "task2");
    ASSERT_TRUE(other.list.refresh());
    EXPECT_EQ(worker.list.list().bytes(), master.file);
    EXPECT_EQ(other.list.list().bytes(), master.file);
    EXPECT_EQ(worker.list.list().line(2).kind, LineKind::done) << master.file;
}

TEST(SharedList, IsReset) {
    MemoryMaster master;
    master.file = tasks(2);
    Worker worker(master);
    ASSERT_TRUE(worker.open());
    ASSERT_TRUE(worker.step());
    ASSERT_TRUE(worker.list.replace([](const Document&) { return tasks(2); }));
    EXPECT_EQ(master.file, tasks(2));
    EXPECT_EQ(worker.list.list().bytes(), tasks(2));
}

// Also without how far lines had moved.
std::string unfinished(const std::string& list) {
    return std::regex_replace(without_finished(list), std::regex("line[+-]\\d+ "), "");
}

// Workers that come, die and lose answers, files that are edited: each task is begun once, unless its worker
// died, and is done at the end.
TEST(SharedList, RunsEachLineOnceWhateverHappens) {
    for (unsigned seed = 0; seed < static_cast<unsigned>(test::some_of(200)); ++seed) {
        std::mt19937_64 random(seed);
        const auto one_in = [&](std::uint64_t n) { return random() % n == 0; };
        MemoryMaster master;
        master.file = tasks(30);
        std::map<std::string, int> begun, died;
        int added = 0, late = 0;
        std::string read = master.file;  // by an editor
        std::vector<std::unique_ptr<Worker>> workers;
        const auto join = [&] {
            workers.push_back(std::make_unique<Worker>(master));
            ASSERT_TRUE(workers.back()->open());
        };
        join();
        for (int step = 0; step < 400; ++step) {
            if (workers.size() < 4 && one_in(10)) join();
            Worker& worker = *workers[random() % workers.size()];
            if (one_in(9))
                worker.store.fault = static_cast<MemoryStore::Fault>(1 + random() % MemoryStore::faults);
            if (one_in(20)) read = master.file;
            if (one_in(25)) {
                const std::string line = "added" + std::to_string(added++) + "\n";
                master.edit((one_in(2) ? read : master.file) + line);
            }
            // Who only looks sees what a worker sees, but perhaps finished lines that somebody removed.
            if (one_in(10) && worker.store.fault == MemoryStore::Fault::none && !master.late) {
                const auto seen = view(worker.store);
                ASSERT_TRUE(seen);
                ASSERT_TRUE(worker.list.refresh());
                EXPECT_EQ(unfinished(seen->bytes()), unfinished(worker.list.list().bytes())) << seed;
            }
            if (one_in(40)) {
                const std::string name = "late" + std::to_string(late++);
                master.old.push_back({name, name + "\n"});
            }
            const auto command = worker.step();
            if (command && !command->empty()) ++begun[*command];
            if (workers.size() > 1 && one_in(30)) {  // it dies; another one finds that
                if (worker.running) ++died[worker.running->searched];
                const WorkerId id = worker.id;
                std::erase_if(workers, [&](const auto& one) { return one.get() == &worker; });
                Worker& other = *workers.front();
                other.store.fault = MemoryStore::Fault::none;
                const auto released = other.list.change(
                    "release", [&](const Document& list) { return other.release(list, id); });
                ASSERT_TRUE(released);
            }
        }
        for (auto& worker : workers) {
            worker->store.fault = MemoryStore::Fault::none;
            const auto command = worker->step();
            ASSERT_TRUE(command) << seed;
            ++begun[*command];
        }
        Worker& last = *workers.front();
        for (;;) {
            const auto command = last.step();
            ASSERT_TRUE(command);
            if (command->empty()) break;
            ++begun[*command];
        }
        for (auto& worker : workers) ASSERT_TRUE(worker->list.refresh());
        for (auto& worker : workers) EXPECT_EQ(worker->list.list().bytes(), last.list.list().bytes()) << seed;
        std::vector<std::string> all;
        for (int at = 0; at < 30; ++at) all.push_back("task" + std::to_string(at));
        for (int at = 0; at < late; ++at) all.push_back("late" + std::to_string(at));
        for (const std::string& task : all) {
            EXPECT_GE(begun[task], 1) << seed << " " << task << "\n" << master.file << master.log;
            EXPECT_LE(begun[task], 1 + died[task]) << seed << " " << task << "\n" << master.file;
        }
    }
}

}  // namespace
