#include "programs/runtask/options.h"

#include <gmock/gmock.h>

#include <map>
#include <sstream>

namespace wq::programs::runtask {
namespace {

using shared_list::store::ListPlace;
using ::testing::HasSubstr;
using Mode = Options::Mode;

Result<Options> parsed(std::vector<const char*> words, std::map<std::string, std::string> variables = {}) {
    words.insert(words.begin(), "runtask");
    return parse_options(static_cast<int>(words.size()), words.data(),
                         [&](const char* name) { return variables[name]; });
}

std::string refusal(std::vector<const char*> words) {
    const auto options = parsed(std::move(words));
    EXPECT_FALSE(options.ok());
    if (options.ok()) return {};
    EXPECT_EQ(options.error().code, ExitCode::usage);
    return options.error().message;
}

TEST(RuntaskOptions, DefaultsAreTheDocuments) {
    const auto options = parsed({"tasks.sh"}).or_throw();
    EXPECT_EQ(options.mode, Mode::run);
    EXPECT_EQ(options.list, (ListPlace{"", "tasks.sh"}));
    EXPECT_EQ(options.name, "");
    EXPECT_FALSE(options.id || options.once || options.timeout);
    EXPECT_EQ(options.jobs, 1U);
    EXPECT_EQ(options.retries, 0U);
    EXPECT_EQ(options.lease, std::chrono::minutes(10));
    EXPECT_EQ(options.poll, std::chrono::seconds(3));
}

TEST(RuntaskOptions, MayFollowTheFile) {
    const auto options = parsed({"~/list.sh", "-m", "master@host", "-n", "me", "-i", "7", "--once", "--jobs",
                                 "4", "--retries", "2", "--timeout", "1h", "--lease", "0", "--poll", "0.5"})
                             .or_throw();
    EXPECT_EQ(options.list, (ListPlace{"master@host", "~/list.sh"}));
    EXPECT_EQ(options.name, "me");
    EXPECT_EQ(options.id, 7U);
    EXPECT_TRUE(options.once);
    EXPECT_EQ(options.jobs, 4U);
    EXPECT_EQ(options.retries, 2U);
    EXPECT_EQ(options.timeout, std::chrono::hours(1));
    EXPECT_EQ(options.lease, Duration{0});
    EXPECT_EQ(options.poll, std::chrono::milliseconds(500));
}

TEST(RuntaskOptions, HostOfTheFileBeatsMasterBeatsVariable) {
    const std::map<std::string, std::string> variables{{"MASTER_SERVER", "variable"}};
    EXPECT_EQ(parsed({"a:f", "-m", "b"}, variables).or_throw().list, (ListPlace{"a", "f"}));
    EXPECT_EQ(parsed({"f", "-m", "b"}, variables).or_throw().list, (ListPlace{"b", "f"}));
    EXPECT_EQ(parsed({"f"}, variables).or_throw().list, (ListPlace{"variable", "f"}));
    EXPECT_EQ(parsed({"f", "-m", ""}, variables).or_throw().list, (ListPlace{"", "f"}));
}

TEST(RuntaskOptions, VariablesStandForWhatIsNotGiven) {
    const std::map<std::string, std::string> variables{{"TASK_FILE", "h:list"}, {"WORKER_NAME", "w"}};
    EXPECT_EQ(parsed({}, variables).or_throw().list, (ListPlace{"h", "list"}));
    EXPECT_EQ(parsed({}, variables).or_throw().name, "w");
    EXPECT_EQ(parsed({"f", "-n", "n"}, variables).or_throw().list, (ListPlace{"", "f"}));
    EXPECT_EQ(parsed({"f", "-n", "n"}, variables).or_throw().name, "n");
    EXPECT_TRUE(parsed({"f", "-n", "n"}, variables).or_throw().named);
    EXPECT_FALSE(parsed({}, variables).or_throw().named);
}

TEST(RuntaskOptions, ResetTakesALineOrNone) {
    EXPECT_EQ(parsed({"f", "--reset"}).or_throw().reset_from, 0U);
    EXPECT_EQ(parsed({"f", "--reset", "12"}).or_throw().reset_from, 12U);
    EXPECT_EQ(parsed({"--reset=12", "f"}).or_throw().reset_from, 12U);
    const auto options = parsed({"--reset", "f"}).or_throw();
    EXPECT_EQ(options.mode, Mode::reset);
    EXPECT_EQ(options.reset_from, 0U);
    EXPECT_EQ(options.list.file, "f");
}

TEST(RuntaskOptions, OtherModes) {
    EXPECT_EQ(parsed({"f", "--lock"}).or_throw().mode, Mode::lock);
    EXPECT_EQ(parsed({"f", "--status"}).or_throw().mode, Mode::status);
    EXPECT_EQ(parsed({"f", "--check"}).or_throw().mode, Mode::check);
    EXPECT_EQ(parsed({"f", "--release", "3"}).or_throw().released, 3U);
    EXPECT_TRUE(parsed({"f", "--release", "3", "--force"}).or_throw().force);
    EXPECT_TRUE(parsed({"f", "--reset", "--force"}).or_throw().force);
    EXPECT_EQ(parsed({"-h"}).or_throw().mode, Mode::help);
    EXPECT_EQ(parsed({"--version"}).or_throw().mode, Mode::version);
}

TEST(RuntaskOptions, RefusalsNameTheRemedy) {
    EXPECT_THAT(refusal({}), HasSubstr("give a task list"));
    EXPECT_THAT(refusal({"a", "b"}), HasSubstr("give one FILE, not 'a' and 'b'"));
    EXPECT_THAT(refusal({"f", "--lock", "--reset"}), HasSubstr("give --lock or --reset, not both"));
    EXPECT_THAT(refusal({"f", "--lock", "--jobs", "2"}), HasSubstr("--jobs is for running lines"));
    EXPECT_THAT(refusal({"f", "--lock", "--force"}), HasSubstr("--force is for --reset and --release"));
    EXPECT_THAT(refusal({"f", "--jobs", "0"}), HasSubstr("--jobs"));
    EXPECT_THAT(refusal({"f", "--id", "-1"}), HasSubstr("--id"));
    EXPECT_THAT(refusal({"f", "--id", "4294967295"}), HasSubstr("--id"));
    EXPECT_THAT(refusal({"f", "--timeout", "0"}), HasSubstr("above 0"));
    EXPECT_THAT(refusal({"f", "--lease", "1"}), HasSubstr("at least 2s"));
    EXPECT_THAT(refusal({"f", "--reset=x"}), HasSubstr("--reset"));
    EXPECT_THAT(refusal({"f", "--onc"}), HasSubstr("--once"));
    EXPECT_THAT(refusal({"host:"}), HasSubstr("names no file"));
    EXPECT_THAT(refusal({"-m", "-oProxyCommand=x", "f"}), HasSubstr("is no host"));
}

TEST(RuntaskOptions, HelpFitsTheTerminal) {
    std::istringstream lines(help());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace wq::programs::runtask
