#include "manager/report/live_report.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "records/journal/append_file.h"
#include "support/fake_recorder.h"
#include "support/folder.h"

namespace wq::manager::report {
namespace {

using ::testing::HasSubstr;

class WhyTest : public ::testing::Test {
  protected:
    WhyTest() : manager_(manager::ManagerOptions{}, tasks_, recorder_, engine::model::Now{}) {
        for (const std::uint64_t line : {2U, 3U, 7U}) tasks_.add_line("work", line, 0);
        engine::model::TaskRange range;
        range.count = 2;
        range.shape.needs.cores = 1;
        manager_.add(range, {}, {}, {});
    }
    std::string why(std::uint64_t line, bool ended = true) const {
        return why_line(manager_, tasks_, ended, line, {});
    }
    void answer_questions(engine::model::Now now) const {
        for (const WhyQuestion& question : take_questions(folder_.path(), now))
            write_answer(question, why(question.line));
    }
    // What stands in the folder of questions.
    std::size_t files() const {
        std::error_code none;
        std::size_t count = 0;
        for (std::filesystem::directory_iterator at(folder_ / "why", none), end; !none && at != end;
             at.increment(none))
            ++count;
        return count;
    }
    test::Folder folder_;
    manager::TaskTable tasks_;
    testing::FakeRecorder recorder_;
    manager::Manager manager_;
};

TEST_F(WhyTest, ALineIsFoundByItsNumber) {
    EXPECT_THAT(why(2), HasSubstr("task 1 (line 2): not now: no worker is connected"));
    EXPECT_THAT(why(3), HasSubstr("task 2 (line 3): not now: "));
    EXPECT_EQ(why(7), "task 3 (line 7): not now: the manager has not read it yet");
    for (const std::uint64_t line : {1U, 5U, 8U}) EXPECT_EQ(why(line), "?no task there");
    EXPECT_EQ(why(8, false), "not now: the manager has not read this line yet");
    EXPECT_EQ(why(5, false), "?no task there");
}

TEST_F(WhyTest, WhoAsksIsAnsweredByFilesAndLeavesNone) {
    std::jthread manager([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            answer_questions({});
            std::this_thread::yield();
        }
    });
    const auto answer = ask_why(folder_.path(), 3, std::chrono::seconds(60));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_THAT(*answer, HasSubstr("task 2 (line 3): not now: "));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "why"));
}

TEST_F(WhyTest, WithoutAnAnswerThatIsSaid) {
    const auto answer = ask_why(folder_.path(), 3, std::chrono::milliseconds(1));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ExitCode::unreachable);
    EXPECT_THAT(answer.error().message, HasSubstr("does not answer"));
    EXPECT_EQ(files(), 0u);
    EXPECT_FALSE(ask_why(folder_.path(), 3, std::chrono::hours(1), [] { return false; }));
    EXPECT_EQ(files(), 0u);
}

TEST_F(WhyTest, WhatIsNoQuestionIsPutAway) {
    std::filesystem::create_directory(folder_ / "why");
    for (const char* text :
         {"", "x", "-3", "99999999999999999999999", "1234567890123456789012345678901234567890"})
        records::journal::write_atomically(folder_ / "why/" + "q" + std::to_string(files()) + ".ask", text)
            .or_throw();
    std::filesystem::create_directory(folder_ / "why/folder.ask");
    answer_questions({});
    EXPECT_EQ(files(), 1u);  // a folder is nobody's question
}

// Of askers and managers that were killed in between.
TEST_F(WhyTest, WhatOthersHaveLeftStarvesNoQuestionAndGoesInTime) {
    const std::string why = folder_ / "why";
    for (int i = 0; i < 150; ++i) {
        std::filesystem::create_directories(why + "/folder" + std::to_string(i) + ".ask");
        records::journal::write_atomically(why + "/old" + std::to_string(i) + ".answer", "x").or_throw();
    }
    records::journal::write_atomically(why + "/zz.ask", "3").or_throw();
    const engine::model::Now soon{{}, wall_now()};
    answer_questions(soon);
    const auto answer = records::journal::read_whole(why + "/zz.answer");
    ASSERT_TRUE(answer);
    EXPECT_THAT(*answer, HasSubstr("task 2 (line 3)"));
    EXPECT_EQ(files(), 301u) << "an answer that is new may yet be read";
    const engine::model::Now later{{}, soon.wall + 3'600'000'000};
    answer_questions(later);
    EXPECT_EQ(files(), 150u);
}

}  // namespace
}  // namespace wq::manager::report
