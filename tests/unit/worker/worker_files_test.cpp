// Files at a worker: what it asks for, and what becomes of it when links are cut and tasks are taken back.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "files/trees/content_key.h"
#include "files/trees/tree_format.h"
#include "support/folder.h"
#include "support/inline_background.h"
#include "worker/worker_files.h"

namespace wq::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string stream_of(const std::string& text) {
    return files::trees::head_of_stream(text.size()) + text + files::trees::tail_of_stream();
}
std::string key_of(const std::string& stream) {
    files::trees::KeyMaker maker;
    maker.add(stream);
    return maker.key();
}
class WorkerFilesTest : public ::testing::Test {
  protected:
    WorkerFilesTest() {
        files_.emplace(background_, folder_.path(), [this](const net::messages::Message& message) {
            if (const auto* want = std::get_if<net::messages::WantInput>(&message))
                stream_[want->task.value()] = want->stream;
            said_.push_back(message);
        });
    }

    static net::messages::Lease lease(std::uint64_t task, const std::string& key) {
        net::messages::Lease lease;
        lease.task = TaskId(task);
        lease.files.emplace();
        lease.files->inputs.push_back({"in", net::messages::InputKind::content, "", key, std::nullopt});
        lease.files->outputs.push_back({"out", true, true});
        return lease;
    }
    void stage(std::uint64_t task, const std::string& key = {}) {
        files_->stage(lease(task, key));
        background_.run();
    }
    void part(std::uint64_t task, const std::string& bytes, bool last) {
        files_->on(net::messages::InputPart{TaskId(task), 1, 0, stream_[task], bytes, last});
        background_.run();
    }
    template <class M>
    std::vector<M> said() {
        std::vector<M> found;
        for (const net::messages::Message& message : said_)
            if (const auto* known = std::get_if<M>(&message)) found.push_back(*known);
        said_.clear();
        return found;
    }
    // The sandboxes of those that may begin.
    std::vector<std::string> staged() {
        std::vector<std::string> sandboxes;
        for (const WorkerFiles::Event& event : files_->next())
            if (const auto* one = std::get_if<WorkerFiles::Staged>(&event)) sandboxes.push_back(one->sandbox);
        return sandboxes;
    }
    // How the one task ended that the manager may be told about.
    std::optional<engine::model::Outcome> ended() {
        std::optional<engine::model::Outcome> outcome;
        for (const WorkerFiles::Event& event : files_->next())
            if (const auto* one = std::get_if<node::launcher::TaskEnded>(&event)) outcome = one->outcome;
        return outcome;
    }
    // Runs: its output is `text`.
    void end(std::uint64_t task, const std::string& sandbox, const std::string& text) {
        std::ofstream(sandbox + "/out") << text;
        files_->deliver({TaskId(task), 1, {}, {}});
        background_.run();
    }

    test::Folder folder_;
    testing::InlineBackground background_;
    std::vector<net::messages::Message> said_;
    std::map<std::uint64_t, std::uint32_t> stream_;  // by task: that it asked for last
    std::optional<WorkerFiles> files_;
};

TEST_F(WorkerFilesTest, AnInputThatWasCutOffComesFromItsBeginning) {
    const std::string stream = stream_of("some text");
    stage(0);
    ASSERT_THAT(said<net::messages::WantInput>(), SizeIs(1));
    part(0, stream.substr(0, 12), false);
    said_.clear();
    files_->begin_streams_anew();
    background_.run();
    ASSERT_THAT(said<net::messages::WantInput>(), SizeIs(1));
    part(0, stream, true);
    const auto sandboxes = staged();
    ASSERT_THAT(sandboxes, SizeIs(1));
    EXPECT_EQ(test::read_file(sandboxes[0] + "/in"), "some text");
}

TEST_F(WorkerFilesTest, ACutBehindTheLastPartChangesNothing) {
    stage(0);
    files_->on(net::messages::InputPart{TaskId(0), 1, 0, 1, stream_of("some text"), true});
    files_->begin_streams_anew();
    background_.run();
    EXPECT_THAT(staged(), SizeIs(1));
}

TEST_F(WorkerFilesTest, OutputsThatWereCutOffGoFromTheirBeginning) {
    stage(0);
    part(0, stream_of(""), true);
    const std::string text(300'000, 'x');  // more than may go unasked
    end(0, staged().at(0), text);
    std::string first;
    for (const auto& sent : said<net::messages::OutputPart>()) first += sent.bytes;
    EXPECT_GE(first.size(), net::messages::first_output_bytes);
    EXPECT_LT(first.size(), text.size());
    files_->begin_streams_anew();
    background_.run();
    files_->on(net::messages::TakeOutput{TaskId(0), 1, 1 << 20});
    background_.run();
    std::string again;
    for (const net::messages::Message& message : said_)
        if (const auto* sent = std::get_if<net::messages::OutputPart>(&message)) again += sent->bytes;
    EXPECT_TRUE(again.starts_with(first)) << "all of it, from the first byte";
    EXPECT_THAT(again, HasSubstr(text));
    EXPECT_THAT(said<net::messages::OutputsSent>(), SizeIs(1));
    EXPECT_THAT(files_->next(), IsEmpty()) << "its end waits for the manager's word";
    files_->on(net::messages::OutputsKept{TaskId(0), 1, ""});
    background_.run();
    EXPECT_THAT(files_->next(), SizeIs(1));
}

// A task that began when it was staged, and has just ended.
node::launcher::TaskEnded ran(std::uint64_t task, WallMicros started, int exit_code) {
    node::launcher::TaskEnded end{TaskId(task), 1, {}, {}};
    end.outcome.exit_code = exit_code;
    end.outcome.started_us = started;
    end.outcome.wall_us = wall_now() - started;
    return end;
}

TEST_F(WorkerFilesTest, InputsAreThereBeforeItsStartAndOutputsAfterItsEnd) {
    for (const int exit_code : {0, 1}) {
        const WallMicros dispatched = wall_now();
        stage(0);
        EXPECT_EQ(files_->times_of({TaskId(0), 1}), engine::model::FileTimes{});
        part(0, stream_of("some text"), true);
        const auto sandboxes = staged();
        ASSERT_THAT(sandboxes, SizeIs(1));
        const WallMicros started = wall_now();
        const engine::model::FileTimes times = files_->times_of({TaskId(0), 1});
        EXPECT_GE(times.inputs_there_us, dispatched);
        EXPECT_LE(times.inputs_there_us, started);
        EXPECT_EQ(times.outputs_there_us, 0);
        std::ofstream(sandboxes[0] + "/out") << "text";
        const node::launcher::TaskEnded end = ran(0, started, exit_code);
        files_->deliver(end);
        background_.run();
        files_->on(net::messages::OutputsKept{TaskId(0), 1, ""});
        const auto outcome = ended();
        ASSERT_TRUE(outcome.has_value());
        EXPECT_EQ(outcome->exit_code, exit_code);
        EXPECT_EQ(outcome->files.inputs_there_us, times.inputs_there_us);
        EXPECT_GE(outcome->files.outputs_there_us, started + outcome->wall_us);
        EXPECT_LE(outcome->files.outputs_there_us, wall_now());
        background_.run();
    }
}

TEST_F(WorkerFilesTest, OutputsThatTheManagerCouldNotStoreWereNeverThere) {
    stage(0);
    part(0, stream_of(""), true);
    end(0, staged().at(0), "text");
    files_->on(net::messages::OutputsKept{TaskId(0), 1, "disk full"});
    const auto outcome = ended();
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->ending, engine::model::Ending::not_transferred);
    EXPECT_GT(outcome->files.inputs_there_us, 0);
    EXPECT_EQ(outcome->files.outputs_there_us, 0);
}

TEST_F(WorkerFilesTest, WithoutFilesThereIsNoTimeOfThem) {
    net::messages::Lease bare = lease(0, "");
    bare.files = net::messages::LeaseFiles{};
    files_->stage(bare);
    background_.run();
    ASSERT_THAT(staged(), SizeIs(1));
    files_->deliver(ran(0, wall_now(), 0));
    background_.run();
    const auto outcome = ended();
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->files, engine::model::FileTimes{});
}

TEST_F(WorkerFilesTest, ALargeSandboxIsRemovedBetweenTheFilesOfOthers) {
    stage(0);
    part(0, stream_of(""), true);
    const std::string sandbox = staged().at(0);
    for (int number = 0; number < 2'000; ++number) std::ofstream(sandbox + "/" + std::to_string(number));
    files_->drop({TaskId(0), 1});
    files_->stage(lease(1, ""));
    said_.clear();
    while (said_.empty()) ASSERT_TRUE(background_.step());
    const auto left = [&] {
        std::filesystem::recursive_directory_iterator all(folder_.path());
        return std::distance(all, {});
    };
    EXPECT_FALSE(std::filesystem::exists(sandbox));
    EXPECT_GT(left(), 1'000);
    background_.run();
    EXPECT_LT(left(), 10);
}

TEST_F(WorkerFilesTest, WhatTwoTasksShareIsAskedForOnce) {
    const std::string stream = stream_of("shared");
    stage(0, key_of(stream));
    stage(1, key_of(stream));
    ASSERT_THAT(said<net::messages::WantInput>(), SizeIs(1));
    part(0, stream, true);
    EXPECT_THAT(staged(), SizeIs(2));
}

TEST_F(WorkerFilesTest, WhenOneThatAskedIsTakenBackTheOtherAsks) {
    const std::string stream = stream_of("shared");
    stage(0, key_of(stream));
    stage(1, key_of(stream));
    said_.clear();
    files_->drop({TaskId(0), 1});
    background_.run();
    const auto asked = said<net::messages::WantInput>();
    ASSERT_THAT(asked, SizeIs(1));
    EXPECT_EQ(asked[0].task, TaskId(1));
    part(1, stream, true);
    EXPECT_THAT(staged(), SizeIs(1));
}

TEST_F(WorkerFilesTest, BytesOfAnotherKeyAreNoInput) {
    stage(0, key_of(stream_of("announced")));
    part(0, stream_of("other"), true);
    const auto events = files_->next();
    ASSERT_THAT(events, SizeIs(1));
    const auto& ended = std::get<node::launcher::TaskEnded>(events[0]);
    EXPECT_EQ(ended.outcome.ending, engine::model::Ending::input_missing);
    EXPECT_EQ(ended.outcome.reason, "in: it changed while it was sent");
}

TEST_F(WorkerFilesTest, NamesAndKeysThatLeadOutMakeNothing) {
    net::messages::Lease out = lease(0, "");
    out.files->inputs[0].name = "../in";
    net::messages::Lease absolute = lease(1, "");
    absolute.files->outputs[0].name = "/out";
    net::messages::Lease key = lease(2, "../../key");
    for (const net::messages::Lease& bad : {out, absolute, key}) {
        files_->stage(bad);
        background_.run();
        const auto events = files_->next();
        ASSERT_THAT(events, SizeIs(1));
        EXPECT_EQ(std::get<node::launcher::TaskEnded>(events[0]).outcome.ending,
                  engine::model::Ending::input_missing);
    }
    EXPECT_THAT(said_, IsEmpty());
}

TEST_F(WorkerFilesTest, AWorkerWithoutAWorkspaceCanStageNothing) {
    files_.emplace(background_, "", [](const net::messages::Message&) {});
    stage(0);
    const auto events = files_->next();
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_TRUE(std::holds_alternative<WorkerFiles::Unable>(events[0]));
    EXPECT_EQ(std::get<WorkerFiles::Unable>(events[0]).why, "the worker has no workspace");
}

TEST_F(WorkerFilesTest, ACacheThatWasEmptiedIsFilledAgain) {
    const std::string stream = stream_of("shared");
    stage(0, key_of(stream));
    part(0, stream, true);
    said_.clear();
    std::filesystem::remove(std::filesystem::path(folder_.path()) / ".files/cache" / key_of(stream));
    stage(1, key_of(stream));
    ASSERT_THAT(said<net::messages::WantInput>(), SizeIs(1));
    part(1, stream, true);
    EXPECT_THAT(staged(), SizeIs(2));
}

TEST_F(WorkerFilesTest, WhatAWorkerBesideItHasIsReadThere) {
    const std::string stream = stream_of("shared");
    std::ofstream(folder_.path() + "/theirs") << "shared";
    stage(0, key_of(stream));
    stage(1, key_of(stream));
    said_.clear();
    files_->on(net::messages::InputIsAt{TaskId(0), 1, 0, folder_.path() + "/theirs"});
    background_.run();
    const auto sandboxes = staged();
    ASSERT_THAT(sandboxes, SizeIs(2));
    EXPECT_EQ(test::read_file(sandboxes[0] + "/in"), "shared");
    const auto has = said<net::messages::HaveInput>();
    ASSERT_THAT(has, SizeIs(1));
    EXPECT_TRUE(std::filesystem::exists(has[0].folder + "/" + key_of(stream)));
}

TEST_F(WorkerFilesTest, WhatIsNotThereIsAskedForAgain) {
    const std::string stream = stream_of("shared");
    std::ofstream(folder_.path() + "/theirs") << "of another key";
    stage(0, key_of(stream));
    for (const std::string& path : {std::string("/theirs"), std::string("/none")}) {
        said_.clear();
        files_->on(net::messages::InputIsAt{TaskId(0), 1, 0, folder_.path() + path});
        background_.run();
        const auto wants = said<net::messages::WantInput>();
        ASSERT_THAT(wants, SizeIs(1)) << path;
        EXPECT_TRUE(wants[0].missed);
    }
    part(0, stream, true);
    EXPECT_THAT(staged(), SizeIs(1));
}

// Who runs it is the worker; here the test.
TEST_F(WorkerFilesTest, WhatACommandMakesIsMadeOnceForAllThatShareIt) {
    net::messages::Lease shared = lease(0, std::string(64, 'a'));
    shared.files->inputs[0] = {"in", net::messages::InputKind::command, "the line", std::string(64, 'a'),
                               std::nullopt};
    files_->stage(shared);
    shared.task = TaskId(1);
    files_->stage(shared);
    background_.run();
    auto events = files_->next();
    ASSERT_THAT(events, SizeIs(1)) << "the other one waits";
    const auto& make = std::get<WorkerFiles::Make>(events[0]);
    EXPECT_EQ(make.from, "the line");
    EXPECT_EQ(files_->phase_of({TaskId(0), 1}), WorkerFiles::Phase::making);
    std::filesystem::create_directory(make.path);
    std::ofstream(make.path + "/inside") << "made";
    files_->made({TaskId(0), 1, {}, {}});
    background_.run();
    const auto sandboxes = staged();
    ASSERT_THAT(sandboxes, SizeIs(2));
    for (const std::string& sandbox : sandboxes) EXPECT_EQ(test::read_file(sandbox + "/in/inside"), "made");
}

TEST_F(WorkerFilesTest, WhatCannotBeMadeIsTriedOnceForAllThatWaitForIt) {
    net::messages::Lease shared = lease(0, "");
    shared.files->inputs[0] = {"in", net::messages::InputKind::command, "the line", std::string(64, 'a'),
                               std::nullopt};
    files_->stage(shared);
    shared.task = TaskId(1);
    files_->stage(shared);
    background_.run();
    files_->next();
    node::launcher::TaskEnded failed{TaskId(0), 1, {}, {}};
    failed.outcome.exit_code = 3;
    files_->made(failed);
    background_.run();
    const auto events = files_->next();
    ASSERT_THAT(events, SizeIs(2));
    for (const auto& event : events) {
        const auto& ended = std::get<node::launcher::TaskEnded>(event);
        EXPECT_EQ(ended.outcome.ending, engine::model::Ending::input_missing);
        EXPECT_EQ(ended.outcome.reason, "in: its command ended with exit 3");
    }
}

// The order to end it crosses the news of its end.
TEST_F(WorkerFilesTest, OneThatIsKilledWhileItsInputIsMadeDoesNotRun) {
    net::messages::Lease made = lease(0, "");
    made.files->inputs[0] = {"in", net::messages::InputKind::command, "the line", "", std::nullopt};
    files_->stage(made);
    background_.run();
    const auto events = files_->next();
    std::ofstream(std::get<WorkerFiles::Make>(events.at(0)).path) << "made";
    files_->kill({TaskId(0), 1});
    files_->made({TaskId(0), 1, {}, {}});
    background_.run();
    const auto after = files_->next();
    ASSERT_THAT(after, SizeIs(1));
    EXPECT_EQ(std::get<node::launcher::TaskEnded>(after[0]).outcome.ending, engine::model::Ending::killed);
}

TEST_F(WorkerFilesTest, WhatIsLeftOfAnEarlierStreamIsNothing) {
    stage(0);
    part(0, stream_of("some text").substr(0, 8), false);
    files_->begin_streams_anew();
    files_->on(net::messages::InputPart{TaskId(0), 1, 0, stream_[0] - 1, "of the old link", true});
    background_.run();
    EXPECT_THAT(files_->next(), IsEmpty());
    part(0, stream_of("some text"), true);
    EXPECT_EQ(test::read_file(staged().at(0) + "/in"), "some text");
}

TEST_F(WorkerFilesTest, OfTwoThatGrowBothAreSent) {
    net::messages::Lease watched = lease(0, "");
    watched.files->inputs.clear();
    watched.files->outputs = {{"one", true, true, true}, {"two", true, true, true}};
    files_->stage(watched);
    background_.run();
    const std::string sandbox = staged().at(0);
    std::string got;
    for (int round = 0; round < 3; ++round) {
        for (const char* name : {"/one", "/two"}) std::ofstream(sandbox + name, std::ios::app) << name[1];
        files_->send_watched(Instant{} + std::chrono::seconds(2 * (round + 1)));
        background_.run();
        for (auto parts = said<net::messages::WatchedPart>(); !parts.empty();
             parts = said<net::messages::WatchedPart>()) {
            got += parts[0].bytes;
            files_->on(net::messages::WatchedTaken{TaskId(0), 1});
            background_.run();
        }
    }
    EXPECT_EQ(got, "ototot");
}

TEST_F(WorkerFilesTest, WhatGrowsIsSentAPartAtATime) {
    net::messages::Lease watched = lease(0, "");
    watched.files->inputs.clear();
    watched.files->outputs[0].watched = true;
    files_->stage(watched);
    background_.run();
    const std::string sandbox = staged().at(0);
    auto look = [&, now = Instant{}]() mutable {
        files_->send_watched(now += std::chrono::seconds(2));
        background_.run();
        return said<net::messages::WatchedPart>();
    };
    EXPECT_THAT(look(), IsEmpty()) << "there is no such file yet";
    std::ofstream(sandbox + "/out") << "one ";
    auto parts = look();
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_EQ(parts[0].bytes, "one ");
    std::ofstream(sandbox + "/out", std::ios::app) << "two";
    EXPECT_THAT(look(), IsEmpty()) << "the first one is not taken yet";
    files_->begin_streams_anew();
    background_.run();
    parts = look();
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_EQ(parts[0].bytes, "one two") << "what was on its way comes again";
    files_->on(net::messages::WatchedTaken{TaskId(0), 1});
    background_.run();
    std::ofstream(sandbox + "/out") << "less";
    EXPECT_THAT(look(), IsEmpty()) << "it is no file that grows";
    EXPECT_TRUE(files_->wakeup().has_value());
    files_->drop({TaskId(0), 1});
    EXPECT_FALSE(files_->wakeup().has_value());
}

}  // namespace
}  // namespace wq::worker
