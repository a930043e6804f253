// Files of summaries where their folder is slow, hangs or is full, and the files of earlier runs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/descriptor.h"
#include "records/logs/summary_writer.h"
#include "unit/api/logs_fixture.h"

namespace wq {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

class SummariesTest : public testing::LogsTest {
  protected:
    void begin(records::logs::SummaryLimits limits = {}) {
        api::ProgramManagerOptions options;
        options.summaries = limits;
        start(1, std::move(options));
        add_worker({}, [](const net::messages::Lease&, net::messages::Ended& ended) {
            ended.outcome.started_us = 1'700'000'000'000'000;
        }).begin();
        program_->monitor({true, true}, path(""));
    }
    std::string gathered() const { return "wq-" + std::to_string(::getpid()) + ".summaries"; }
    // A folder that hangs: who writes to it waits until somebody reads.
    void hang() { ASSERT_EQ(::mkfifo(path(gathered()).c_str(), 0600), 0); }
    // It takes what fits into a pipe.
    void answer() {
        hung_ = Descriptor(::open(path(gathered()).c_str(), O_RDWR | O_CLOEXEC));
        ASSERT_TRUE(hung_.valid());
    }
    void await_line() {
        char first = 0;
        EXPECT_EQ(::read(hung_.get(), &first, 1), 1);
        EXPECT_EQ(first, '{');
    }
    void await_end_of(std::int64_t id) {
        while (program_->task_state(id) != TaskState::retrieved) std::this_thread::yield();
    }
    void await_said(const std::string& text) {
        while (said().find(text) == std::string::npos) std::this_thread::yield();
    }
    Descriptor hung_;
};

TEST_F(SummariesTest, AFolderThatHangsHoldsNoOtherTaskAndNoWaitBeyondItsLimit) {
    begin();
    hang();
    const std::int64_t held = submit(Task("x").tag("held"));
    await_end_of(held);
    EXPECT_FALSE(program_->wait(Duration{0}));
    program_->monitor({true, true}, "");
    const std::int64_t other = submit(Task("y"));
    const auto first = wait();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->id(), other);
    EXPECT_FALSE(program_->empty());
    answer();
    const auto second = wait();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->id(), held);
    EXPECT_TRUE(program_->empty());
}

TEST_F(SummariesTest, ATaskWhoseSummaryIsNotWrittenYetCanBeCancelled) {
    begin();
    hang();
    const std::int64_t held = submit(Task("x"));
    await_end_of(held);
    EXPECT_TRUE(program_->cancel(held));
    EXPECT_TRUE(program_->empty());
    answer();
    await_line();
}

TEST_F(SummariesTest, AFolderThatHangsIsToldAndTheEndDoesNotWaitForItForEver) {
    begin({64u << 20, std::chrono::milliseconds(20)});
    hang();
    submit(Task("x"));
    await_said("a summary waits to be written to " + path("") + ", which has not responded for ");
    program_.reset();
    EXPECT_THAT(said(), HasSubstr("the manager's end waits: a summary waits to be written to " + path("")));
    EXPECT_THAT(said(), HasSubstr("they are lost unless it responds before this program ends"));
    answer();
    await_line();
}

TEST_F(SummariesTest, WhileTooManyWaitToBeWrittenNoTaskStarts) {
    begin({1, std::chrono::hours(1)});
    hang();
    submit(Task("x"));
    await_said("to be written to " + path("") + ": no task is dispatched until some are written");
    EXPECT_THAT(program_->why(submit(Task("y"))), HasSubstr("not now: results cannot be written"));
    answer();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(wait()) << i;
}

// Of a disk that is full: it takes the beginning of what is written.
TEST_F(SummariesTest, HalfALineIsCutOff) {
    begin();
    submit(Task("x"));
    ASSERT_TRUE(wait());
    const auto whole = static_cast<rlim_t>(std::filesystem::file_size(path(gathered())));
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{whole + whole / 2, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &little);
    submit(Task("y"));
    const bool ended = wait().has_value();
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_TRUE(ended);
    EXPECT_THAT(said(), HasSubstr("a summary cannot be written: "));
    EXPECT_EQ(std::filesystem::file_size(path(gathered())), whole);
    submit(Task("z"));
    ASSERT_TRUE(wait());
    std::vector<std::string> commands;
    for (const std::string& line : lines(gathered())) commands.push_back(Json::parse(line)["command"]);
    EXPECT_THAT(commands, ::testing::ElementsAre("x", "z"));
}

TEST_F(SummariesTest, WhatAnEarlierProcessOfTheSameIdHasGatheredIsOfAnotherRun) {
    std::ofstream(path(gathered())) << "{\"command\": \"of another run\"}\n";
    for (const char* name : {"first manager", "second manager"}) {
        begin();
        submit(Task(name));
        ASSERT_TRUE(wait());
        program_.reset();
    }
    const auto all = lines(gathered());
    ASSERT_EQ(all.size(), 2u) << "managers of one process share it";
    EXPECT_EQ(Json::parse(all[0])["command"], "first manager");
    EXPECT_EQ(Json::parse(lines(gathered() + ".1").at(0))["command"], "of another run");
}

TEST_F(SummariesTest, WhatIsNoSummaryIsPassedOverAndToldOnce) {
    std::ofstream(path("torn")) << R"({"category": "a", "memory": [1, "MB"]})"
                                << "\n"
                                << R"({"category": "a", "mem{"category": "a"})"
                                << "\n"
                                << "nothing\n"
                                << "{\n  \"category\": \"b\"\n}\n"
                                << "[1]\n"
                                << R"({"category": "a"})"
                                << "\n"
                                << R"({"category": "a", "cor)";
    const auto read = records::logs::read_summaries(path("torn"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->samples.at("a").size(), 2u);
    EXPECT_EQ(read->samples.at("b").size(), 1u);
    EXPECT_EQ(read->warning, path("torn") + ": line 2 is not a summary, like 2 others: skipped");
    std::ofstream(path("wrong")) << "a table\nof numbers\n";
    const auto wrong = records::logs::read_summaries(path("wrong"));
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, HasSubstr("wrong: line 1 is not a summary, nor is any other"));
    std::ofstream(path("none")) << "";
    EXPECT_TRUE(records::logs::read_summaries(path("none")));
}

}  // namespace
}  // namespace wq
