// Files at the manager: before a lease, and what workers may ask for and send.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "files/transfers/file_transfers.h"
#include "files/trees/tree_format.h"
#include "support/folder.h"
#include "support/inline_background.h"

namespace wq::files::transfers {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WorkerId worker{3};
constexpr WorkerId another{4};

class FileTransfersTest : public ::testing::Test {
  protected:
    std::string here(const std::string& name) { return folder_.path() + "/" + name; }

    // Brings `in` along, cached, and takes `out` home.
    std::shared_ptr<trees::TaskFiles> task_files() {
        auto files = std::make_shared<trees::TaskFiles>();
        files->inputs.push_back({trees::InputSource::file, here("in"), {}, "in", true});
        files->outputs.push_back({"out", here("out")});
        return files;
    }
    void prepare(std::uint64_t task) {
        transfers_.prepare(worker, TaskId(task), 1, task_files(),
                           [this](const FileTransfers::Prepared& result) { prepared_.push_back(result); });
    }
    void write(const std::string& text) { std::ofstream(here("in")) << text; }
    template <class M>
    std::vector<M> told() {
        std::vector<M> found;
        for (const auto& [to, message] : told_)
            if (const auto* known = std::get_if<M>(&message)) found.push_back(*known);
        told_.clear();
        return found;
    }
    bool send(const std::string& bytes, bool last, std::uint32_t output = 0, WorkerId from = worker) {
        net::messages::OutputPart part{TaskId(0), 1, output, bytes, last};
        return transfers_.on(from, part);
    }
    static std::string stream_of(const std::string& text) {
        return trees::head_of_stream(text.size()) + text + trees::tail_of_stream();
    }

    test::Folder folder_;
    testing::InlineBackground background_;
    std::vector<std::pair<WorkerId, net::messages::Message>> told_;
    std::vector<FileTransfers::Prepared> prepared_;
    FileTransfers transfers_{background_, [this](WorkerId to, const net::messages::Message& message) {
                                 told_.emplace_back(to, message);
                             }};
};

TEST_F(FileTransfersTest, OneOfManyMakesTheKeyThatAllWaitFor) {
    write(std::string(20 << 20, 'x'));  // several jobs
    for (std::uint64_t task = 0; task < 5; ++task) prepare(task);
    background_.run();
    ASSERT_THAT(prepared_, SizeIs(5));
    const auto key = [&](std::size_t n) {
        return std::get<net::messages::LeaseFiles>(prepared_[n]).inputs.at(0).key;
    };
    EXPECT_THAT(key(0), SizeIs(64));
    for (std::size_t n = 1; n < 5; ++n) EXPECT_EQ(key(n), key(0));
}

TEST_F(FileTransfersTest, WhenTheOneIsDroppedTheNextMakesIt) {
    write(std::string(20 << 20, 'x'));
    prepare(0);
    prepare(1);
    background_.step();
    background_.step();
    transfers_.drop(TaskId(0), 1);
    background_.run();
    EXPECT_THAT(prepared_, SizeIs(1));
}

TEST_F(FileTransfersTest, AFileThatChangesHasAnotherKey) {
    write("one");
    prepare(0);
    background_.run();
    write("two");
    prepare(1);
    background_.run();
    ASSERT_THAT(prepared_, SizeIs(2));
    EXPECT_NE(std::get<net::messages::LeaseFiles>(prepared_[0]).inputs[0].key,
              std::get<net::messages::LeaseFiles>(prepared_[1]).inputs[0].key);
}

TEST_F(FileTransfersTest, WhatIsMissingIsSaidBeforeTheLease) {
    prepare(0);
    background_.run();
    ASSERT_THAT(prepared_, SizeIs(1));
    EXPECT_THAT(std::get<trees::Problem>(prepared_[0]).what, HasSubstr("in: No such file"));
    transfers_.on(worker, net::messages::WantInput{TaskId(0), 1, 0, 100});
    EXPECT_THAT(told<net::messages::NoInput>(), SizeIs(1)) << "there is no such lease any more";
}

TEST_F(FileTransfersTest, NoMoreIsSentThanAWindow) {
    write(std::string(20 << 20, 'x'));
    prepare(0);
    background_.run();
    transfers_.on(worker, net::messages::WantInput{TaskId(0), 1, 0, UINT64_MAX});
    background_.run();
    std::size_t sent = 0;
    for (const auto& part : told<net::messages::InputPart>()) sent += part.bytes.size();
    EXPECT_GE(sent, net::messages::input_window);
    EXPECT_LT(sent, 2 * net::messages::input_window);
}

TEST_F(FileTransfersTest, WorkersGetNothingOfOthersLeases) {
    write("secret");
    prepare(0);
    background_.run();
    transfers_.on(another, net::messages::WantInput{TaskId(0), 1, 0, 100});
    background_.run();
    EXPECT_THAT(told<net::messages::InputPart>(), IsEmpty());
    EXPECT_TRUE(send(stream_of("x"), true, 0, another));
    background_.run();
    EXPECT_FALSE(std::filesystem::exists(here("out")));
}

TEST_F(FileTransfersTest, AnOutputIsThereOnceItIsWhole) {
    write("");
    prepare(0);
    background_.run();
    const std::string stream = stream_of("made");
    EXPECT_TRUE(send(stream.substr(0, 5), false));
    background_.run();
    EXPECT_FALSE(std::filesystem::exists(here("out")));
    EXPECT_TRUE(send(stream.substr(5), true));
    transfers_.on(worker, net::messages::OutputsSent{TaskId(0), 1});
    background_.run();
    EXPECT_TRUE(std::filesystem::exists(here("out")));
    const auto kept = told<net::messages::OutputsKept>();
    ASSERT_THAT(kept, SizeIs(1));
    EXPECT_EQ(kept[0].trouble, "");
}

TEST_F(FileTransfersTest, WhatNoReaderSendsIsRefused) {
    write("");
    prepare(0);
    background_.run();
    EXPECT_FALSE(send("", false)) << "no bytes";
    EXPECT_FALSE(send("x", false, 7)) << "no such output";
    EXPECT_TRUE(send(stream_of("x"), true));
    EXPECT_FALSE(send("more", true)) << "behind its end";
}

TEST_F(FileTransfersTest, MoreThanWasAskedForIsRefused) {
    write("");
    prepare(0);
    background_.run();
    bool taken = true;
    int parts = 0;
    for (; taken && parts < 100; ++parts) taken = send(std::string(64 << 10, 'x'), false);
    EXPECT_FALSE(taken);
    EXPECT_LE(parts, 6);
}

TEST_F(FileTransfersTest, OfADroppedLeaseNothingIsWrittenAnyMore) {
    write("");
    prepare(0);
    background_.run();
    EXPECT_TRUE(send(stream_of("made"), true));
    transfers_.drop(Interval{0, 1});
    background_.run();
    EXPECT_FALSE(std::filesystem::exists(here("out")));
    EXPECT_THAT(told_, IsEmpty());
}

TEST_F(FileTransfersTest, WhatIsFinishedWhileTheLinkIsCutIsNotSaidOnTheNextOne) {
    write("");
    prepare(0);
    background_.run();
    EXPECT_TRUE(send(stream_of("made"), true));
    transfers_.on(worker, net::messages::OutputsSent{TaskId(0), 1});
    transfers_.cut(worker);
    background_.run();
    EXPECT_THAT(told_, IsEmpty());
    EXPECT_TRUE(send(stream_of("made"), true)) << "it comes anew";
    transfers_.on(worker, net::messages::OutputsSent{TaskId(0), 1});
    background_.run();
    EXPECT_THAT(told<net::messages::OutputsKept>(), SizeIs(1));
    EXPECT_TRUE(std::filesystem::exists(here("out")));
}

TEST_F(FileTransfersTest, StreamsThatAreKeptAreThereForTheReportThatComesOverTheNextLink) {
    transfers_.expect_streams(worker, TaskId(0), 1, 1000);
    EXPECT_TRUE(send("said", true));
    transfers_.on(worker, net::messages::OutputsSent{TaskId(0), 1});
    background_.run();
    EXPECT_THAT(told<net::messages::OutputsKept>(), SizeIs(1));
    transfers_.cut(worker);
    transfers_.cut(worker);
    background_.run();
    const auto streams = transfers_.take_streams(worker, TaskId(0), 1);
    ASSERT_TRUE(streams[0].valid());
    EXPECT_EQ(::lseek(streams[0].get(), 0, SEEK_END), 5) << "with a NUL";
}

TEST_F(FileTransfersTest, StreamsOfAWorkerThatDidNotHearOfThemComeAnew) {
    transfers_.expect_streams(worker, TaskId(0), 1, 1000);
    for (const char* const text : {"lost", "anew"}) {
        EXPECT_TRUE(send(text, true, 1));
        transfers_.on(worker, net::messages::OutputsSent{TaskId(0), 1});
        background_.run();
        if (text == std::string("lost")) transfers_.cut(worker);
    }
    EXPECT_THAT(told<net::messages::OutputsKept>(), SizeIs(2));
    const auto streams = transfers_.take_streams(worker, TaskId(0), 1);
    ASSERT_TRUE(streams[1].valid());
    std::string read(4, ' ');
    EXPECT_EQ(::pread(streams[1].get(), read.data(), read.size(), 0), 4);
    EXPECT_EQ(read, "anew");
}

// Two workers of a node, each with a lease that needs the file.
class SharedFileTest : public FileTransfersTest {
  protected:
    SharedFileTest() {
        write(std::string(3 << 20, 'x'));
        for (const WorkerId one : {worker, another}) {
            transfers_.joined(one, "node");
            transfers_.prepare(
                one, TaskId(one.value()), 1, task_files(),
                [this](const FileTransfers::Prepared& result) { prepared_.push_back(result); });
        }
        background_.run();
        key_ = std::get<net::messages::LeaseFiles>(prepared_.at(0)).inputs.at(0).key;
    }
    void want(WorkerId one, bool missed = false, std::uint32_t stream = 1) {
        transfers_.on(one, net::messages::WantInput{TaskId(one.value()), 1, 0, net::messages::input_window,
                                                    stream, missed});
        background_.run();
    }
    std::string key_;
};

TEST_F(SharedFileTest, GoesToOneAndTheOtherIsToldWhereItIs) {
    want(worker);
    EXPECT_THAT(told<net::messages::InputPart>(), ::testing::Not(IsEmpty()));
    want(another);
    EXPECT_THAT(told_, IsEmpty()) << "it waits";
    transfers_.on(worker, net::messages::HaveInput{TaskId(worker.value()), 1, 0, "/their/cache"});
    background_.run();
    const auto at = told<net::messages::InputIsAt>();
    ASSERT_THAT(at, SizeIs(1));
    EXPECT_EQ(at[0].path, "/their/cache/" + key_);
    want(another, true, 2);
    EXPECT_THAT(told<net::messages::InputPart>(), ::testing::Not(IsEmpty())) << "it was not there";
}

TEST_F(SharedFileTest, GoesToTheNextWhenTheOneIsCutOffOrLostOrItsTaskCancelled) {
    const std::vector<std::function<void()>> ends{[this] { transfers_.cut(worker); },
                                                  [this] { transfers_.drop(TaskId(worker.value()), 1); },
                                                  [this] { transfers_.drop(worker); }};
    for (std::size_t way = 0; way < ends.size(); ++way) {
        transfers_.drop(another);
        transfers_.drop(worker);
        prepared_.clear();
        for (const WorkerId one : {worker, another}) {
            transfers_.joined(one, "node");
            transfers_.prepare(one, TaskId(one.value()), 1, task_files(),
                               [](const FileTransfers::Prepared&) {});
        }
        background_.run();
        want(worker);
        want(another);
        told_.clear();
        ends[way]();
        background_.run();
        ASSERT_THAT(told_, ::testing::Not(IsEmpty())) << way;
        for (const auto& [to, message] : told_) EXPECT_EQ(to, another) << way;
        EXPECT_THAT(told<net::messages::InputPart>(), ::testing::Not(IsEmpty())) << way;
    }
}

// It is asked for anew when the worker is back; until then nothing is read for it.
TEST_F(SharedFileTest, WhoWaitsAndIsCutOffIsSentItWhenItIsBack) {
    want(worker);
    want(another);
    transfers_.cut(another);
    transfers_.cut(worker);
    background_.run();
    told_.clear();
    want(another, false, 2);
    std::size_t bytes = 0;
    for (const auto& part : told<net::messages::InputPart>()) bytes += part.bytes.size();
    EXPECT_GE(bytes, net::messages::input_window);
    bool whole = false;
    for (int round = 0; round < 10 && !whole; ++round) {
        transfers_.on(another, net::messages::WantInput{TaskId(another.value()), 1, 0, 8 << 20, 2, false});
        background_.run();
        for (const auto& part : told<net::messages::InputPart>()) whole = whole || part.last;
    }
    EXPECT_TRUE(whole);
}

// The ids of tasks can be guessed.
TEST_F(FileTransfersTest, WhatIsAskedForBeforeItsLeaseLeavesIsNotThere) {
    write("text");
    transfers_.joined(worker, "node");
    transfers_.joined(another, "node");
    prepare(0);
    transfers_.on(worker, net::messages::WantInput{TaskId(0), 1, 0, net::messages::input_window});
    EXPECT_THAT(told<net::messages::NoInput>(), SizeIs(1));
    transfers_.cut(worker);
    background_.run();
    EXPECT_THAT(prepared_, SizeIs(1));
}

TEST_F(FileTransfersTest, WhatIsWatchedIsWrittenAsItComes) {
    auto files = task_files();
    files->inputs.clear();
    files->outputs[0].watched = true;
    std::ofstream(here("out")) << "of an earlier run";
    transfers_.prepare(worker, TaskId(0), 1, files, [](const FileTransfers::Prepared&) {});
    background_.run();
    const auto grow = [&](std::uint64_t offset, const std::string& bytes, std::uint32_t output = 0) {
        net::messages::WatchedPart part{TaskId(0), 1, output, offset, bytes};
        return transfers_.on(worker, part);
    };
    EXPECT_TRUE(grow(0, "one "));
    EXPECT_FALSE(grow(4, "two")) << "the first one is not written yet";
    background_.run();
    EXPECT_THAT(told<net::messages::WatchedTaken>(), SizeIs(1));
    EXPECT_TRUE(grow(4, "two"));
    background_.run();
    EXPECT_EQ(test::read_file(here("out")), "one two");
    EXPECT_FALSE(grow(0, "x", 1)) << "no such output";
    EXPECT_FALSE(grow(0, std::string(1 << 20, 'x'))) << "more than a part";
    EXPECT_TRUE(send(stream_of("whole"), true));
    background_.run();
    EXPECT_EQ(test::read_file(here("out")), "whole");
}

}  // namespace
}  // namespace wq::files::transfers
