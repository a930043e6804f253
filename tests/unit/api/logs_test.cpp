// The logs that a program asks for.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "api/listening.h"
#include "unit/api/program_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProgramTest;

class LogsTest : public ProgramTest {
  protected:
    LogsTest() {
        std::string name = (std::filesystem::temp_directory_path() / "wq-logs-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~LogsTest() override { std::filesystem::remove_all(folder_); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::vector<std::string> lines(const std::string& name) const {
        std::ifstream in(path(name));
        std::vector<std::string> all;
        for (std::string line; std::getline(in, line);) all.push_back(line);
        return all;
    }
    std::filesystem::path folder_;
};

// As `grep 'TASK \<1\>'` of the manual shows it, with the numbers that differ taken out.
TEST_F(LogsTest, TransactionsTellTheLifeOfATask) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    add_worker({}, [](const wire::Lease&, wire::Ended& ended) { ended.outcome.wall_us = 123137485; }).begin();
    submit(Task("a").cores(1).memory(800).disk(500));
    submit(Task("b"));
    while (wait()) {
    }
    submit(Task("never").cores(99));
    ASSERT_TRUE(program_->cancel(3));
    program_.reset();
    std::vector<std::string> first;
    std::vector<std::string> third;
    for (const std::string& line : lines("tr.log")) {
        const std::string text = line.substr(line.find(' ', line.find(' ') + 1) + 1);  // less time and pid
        if (text.starts_with("TASK 1 ")) first.push_back(text);
        if (text.starts_with("TASK 3 ")) third.push_back(text);
    }
    ASSERT_EQ(first.size(), 5U);
    EXPECT_EQ(first[0],
              "TASK 1 WAITING default FIRST_RESOURCES "
              R"({"cores":[1,"cores"],"memory":[800,"MB"],"disk":[500,"MB"]})");
    EXPECT_EQ(first[1],
              "TASK 1 RUNNING host:rank_1 FIRST_RESOURCES "
              R"({"cores":[1,"cores"],"memory":[800,"MB"],"disk":[500,"MB"]})");
    EXPECT_EQ(first[2], "TASK 1 WAITING_RETRIEVAL host:rank_1");
    EXPECT_THAT(
        first[3],
        HasSubstr(R"(TASK 1 RETRIEVED SUCCESS 0 {} {"cores":[1,"cores"],"wall_time":[123.137485,"s"])"));
    EXPECT_THAT(first[4],
                HasSubstr(R"(TASK 1 DONE SUCCESS 0 {} {"cores":[1,"cores"],"wall_time":[123.137485,"s"])"));
    EXPECT_THAT(third, ElementsAre(R"(TASK 3 WAITING default FIRST_RESOURCES {"cores":[99,"cores"]})",
                                   "TASK 3 CANCELED"));
    const auto all = lines("tr.log");
    EXPECT_THAT(all.back(), HasSubstr("MANAGER END"));
}

TEST_F(LogsTest, StatisticsAreATextOfColumnsOrHdf5ByTheName) {
    for (const char* name : {"stats.log", "stats.h5"}) {
        workers_.clear();
        api::ProgramManagerOptions options;
        options.logs.statistics = path(name);
        start(0, std::move(options));
        submit(Task("a"));
        program_.reset();
        EXPECT_GT(std::filesystem::file_size(path(name)), 0U);
    }
    const auto text = lines("stats.log");
    ASSERT_GE(text.size(), 2U);
    EXPECT_THAT(text[0], HasSubstr("# timestamp workers_connected workers_init"));
    std::ifstream h5(path("stats.h5"), std::ios::binary);
    std::string magic(4, '\0');
    h5.read(magic.data(), 4);
    EXPECT_EQ(magic, "\x89HDF");
}

TEST_F(LogsTest, TheDebugLogIsRotatedAndRefusesUnknownSubsystems) {
    auto log = stats::DebugLog::open({path("d.log"), "tcp,wq", 200, "test"});
    ASSERT_TRUE(log);
    EXPECT_TRUE((*log)->wants("tcp"));
    EXPECT_FALSE((*log)->wants("task"));
    for (int i = 0; i < 10; ++i) (*log)->write("wq", "line\n" + std::to_string(i));
    EXPECT_TRUE(std::filesystem::exists(path("d.log.old")));
    EXPECT_LE(std::filesystem::file_size(path("d.log")), 200U);
    EXPECT_THAT(lines("d.log").back(), HasSubstr("] wq: line 9"));
    const auto refused = stats::DebugLog::open({path("d.log"), "nonsense", 0, "test"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("nonsense"));
}

class ListenTest : public LogsTest {
  protected:
    Result<api::Listening> listen(const ManagerOptions& options) {
        return api::listen(
            options, [this](const std::string& line) { said_.push_back(line); },
            [this](const char* name) -> const char* {
                const auto found = variables_.find(name);
                return found == variables_.end() ? nullptr : found->second.c_str();
            });
    }
    std::map<std::string, std::string> variables_;
};

TEST_F(ListenTest, AnOpenManagerWarnsOnceAndNamesTheCure) {
    ManagerOptions options;
    options.port = 0;
    const auto open = listen(options);
    ASSERT_TRUE(open) << open.error().message;
    EXPECT_GE(open->port, 1024);
    ASSERT_EQ(said_.size(), 1U);
    EXPECT_THAT(said_[0], HasSubstr("contact_file"));
    EXPECT_THAT(said_[0], HasSubstr(std::to_string(open->port)));
}

TEST_F(ListenTest, AKeyThatIsRequiredIsRequired) {
    ManagerOptions options;
    options.port = 0;
    variables_["WORK_QUEUE_REQUIRE_KEY"] = "1";
    const auto refused = listen(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::not_allowed);
    EXPECT_THAT(refused.error().message, HasSubstr("password_file"));
    options.contact_file = path("contact");
    EXPECT_TRUE(listen(options));
    EXPECT_TRUE(said_.empty());
}

TEST_F(ListenTest, APortInUseAndAnEmptyPasswordAreRefused) {
    ManagerOptions options;
    options.port = 0;
    options.password = "secret";
    const auto first = listen(options);
    ASSERT_TRUE(first);
    options.port = first->port;
    const auto second = listen(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::unreachable);
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(first->port)));
    std::ofstream(path("empty")).close();
    options.port = 0;
    options.password.clear();
    options.password_file = path("empty");
    const auto empty = listen(options);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().code, ExitCode::bad_input);
}

TEST(KeepAlive, IsNoSoonerThanWorkersSpeak) {
    transport::TcpLimits limits;
    const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
    api::set_keep_alive(limits, {10, 20});
    EXPECT_EQ(seconds(limits.keep_alive), 10);
    EXPECT_EQ(seconds(limits.silence), 90);
    api::set_keep_alive(limits, {300, 60});
    EXPECT_EQ(seconds(limits.keep_alive), 30);
    EXPECT_EQ(seconds(limits.silence), 360);
    api::set_keep_alive(limits, {0, 60});
    EXPECT_GT(seconds(limits.silence), 1e8);
}

TEST_F(ListenTest, PortsComeFromTheOptionsThenTheEnvironment) {
    ManagerOptions options;
    const auto ports = [&] {
        const auto range = api::ports_of(options, [this](const char* name) -> const char* {
            const auto found = variables_.find(name);
            return found == variables_.end() ? nullptr : found->second.c_str();
        });
        return range ? std::to_string(range->low) + "-" + std::to_string(range->high) : range.error().message;
    };
    EXPECT_EQ(ports(), "9123-9123");
    options.port = -1;
    EXPECT_EQ(ports(), "1024-32767");
    variables_["TCP_LOW_PORT"] = "5000";
    variables_["TCP_HIGH_PORT"] = "5010";
    EXPECT_EQ(ports(), "5000-5010");
    variables_["WORK_QUEUE_LOW_PORT"] = "5005";
    EXPECT_EQ(ports(), "5005-5010");
    variables_["WORK_QUEUE_PORT"] = "7000";
    EXPECT_EQ(ports(), "7000-7000");
    options.port_range = std::pair{8000, 8001};
    EXPECT_EQ(ports(), "8000-8001");
    options.port_range = std::pair{8001, 8000};
    EXPECT_THAT(ports(), HasSubstr("no range"));
    options.port_range.reset();
    variables_["WORK_QUEUE_PORT"] = "port";
    EXPECT_THAT(ports(), HasSubstr("WORK_QUEUE_PORT"));
}

}  // namespace
}  // namespace wq
