#include "programs/command_line.h"

#include <gmock/gmock.h>

namespace wq::programs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<Given> split(const std::vector<std::string>& words, const OptionTable& more = {}) {
    OptionTable table{{group, "Options"},
                      {"retries,r", "N", "retry at most N times"},
                      {"once", "", "no more"},
                      {"master-name", "NAME"}};
    table.insert(table.end(), more.begin(), more.end());
    return read_options(words, table, "file");
}

std::string refusal_of(const std::vector<std::string>& words) {
    const auto given = split(words);
    if (given) return "none";
    EXPECT_EQ(given.error().code, ExitCode::usage);
    return given.error().message;
}

TEST(CommandLine, OtherWordsAreWhereTheyBelong) {
    const auto given = split({"a", "--retries=3", "b", "--master-name", "m", "--once"}).or_throw();
    EXPECT_EQ(given.text("retries"), "3");
    EXPECT_EQ(given.text("master-name"), "m");
    EXPECT_TRUE(given.has("once"));
    EXPECT_THAT(given.texts("file"), ElementsAre("a", "b"));
}

TEST(CommandLine, NothingIsGivenByNoWords) {
    EXPECT_TRUE(words_of(0, nullptr).empty());
    EXPECT_TRUE(split({}).or_throw().values.empty());
}

TEST(CommandLine, ProgramsNameIsNoWord) {
    const char* const words[] = {"program", "a", "--once"};
    EXPECT_THAT(words_of(3, words), ElementsAre("a", "--once"));
}

TEST(CommandLine, MisspeltOptionsAreSuggestedUnlessHidden) {
    EXPECT_THAT(refusal_of({"--retrys=3"}), HasSubstr("--retries"));
    EXPECT_THAT(refusal_of({"--master-nam=3"}), Not(HasSubstr("--master-name'")));
    EXPECT_THAT(refusal_of({"--retries"}), HasSubstr("try --help"));
}

TEST(CommandLine, AbbreviationsAreRefused) {
    EXPECT_THAT(refusal_of({"--retr", "3"}), HasSubstr("--retr"));
}

TEST(CommandLine, TargetsAreFilledWithWhatIsGiven) {
    bool once = false;
    bool force = false;
    std::string name = "before";
    std::string other = "before";
    std::vector<std::string> features;
    const OptionTable more{{"force,f", "", "", &force},
                           {"name", "X", "", &name},
                           {",o", "X", "", &other},
                           {"feature", "X", "", &features},
                           {"leave", "", "", &once}};
    ASSERT_TRUE(split({"-f", "-o", "after", "--feature=a", "--feature", "b"}, more));
    EXPECT_TRUE(force);
    EXPECT_FALSE(once);
    EXPECT_EQ(name, "before");
    EXPECT_EQ(other, "after");
    EXPECT_THAT(features, ElementsAre("a", "b"));
}

TEST(CommandLine, HelpShowsGroupsAndNoHiddenOptions) {
    EXPECT_EQ(help_with("Usage: x\n",
                        {{group, "First"},
                         {"retries,r", "N", "retry at most N times"},
                         {"hidden", "X"},
                         {group, "Second"},
                         {"once", "", "no more"}},
                        "\nEnd.\n"),
              "Usage: x\n"
              "\nFirst:\n"
              "  -r [ --retries ] N     retry at most N times\n"
              "\nSecond:\n"
              "  --once                 no more\n"
              "\nEnd.\n");
}

TEST(OptionValues, AreBetweenTheirBounds) {
    std::int64_t retries = 1;
    const Given seven = split({"-r", "7"}).or_throw();
    const Given eleven = split({"-r", "11"}).or_throw();
    OptionTaker take(seven);
    take("retries", retries, between(0, 10));
    EXPECT_TRUE(take.status());
    EXPECT_EQ(retries, 7);
    OptionTaker refuse(eleven);
    refuse("retries", retries, between(0, 10));
    ASSERT_FALSE(refuse.status());
    EXPECT_THAT(refuse.status().error().message, HasSubstr("--retries: "));
    EXPECT_EQ(retries, 7);
}

TEST(OptionValues, FirstErrorCounts) {
    const Given given = split({"-r", "7", "--master-name", "m"}).or_throw();
    std::int64_t retries = 1;
    OptionTaker take(given);
    take("master-name", retries, between(0, 10));
    take("retries", retries, between(0, 10));
    take.check(usage_error("another"));
    EXPECT_THAT(take.status().error().message, HasSubstr("--master-name: "));
    EXPECT_EQ(retries, 1);
}

}  // namespace
}  // namespace wq::programs
