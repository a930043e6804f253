#include "programs/command_line.h"

#include <gmock/gmock.h>

#include "programs/option_values.h"

namespace wq::programs {
namespace {

namespace po = boost::program_options;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<po::variables_map> split(const std::vector<std::string>& words) {
    po::options_description shown;
    shown.add_options()("retries,r", po::value<std::string>())("once", "");
    po::options_description hidden;
    hidden.add_options()("master-name", po::value<std::string>());
    return split_words(words, shown, "file", hidden);
}

std::string refusal_of(const std::vector<std::string>& words) {
    const auto given = split(words);
    if (given) return "none";
    EXPECT_EQ(given.error().code, ExitCode::usage);
    return given.error().message;
}

TEST(CommandLine, OtherWordsAreWhereTheyBelong) {
    const auto given = split({"a", "--retries=3", "b", "--master-name", "m", "--once"}).or_throw();
    EXPECT_EQ(given["retries"].as<std::string>(), "3");
    EXPECT_EQ(given["master-name"].as<std::string>(), "m");
    EXPECT_EQ(given.count("once"), 1);
    EXPECT_THAT(given["file"].as<std::vector<std::string>>(), ElementsAre("a", "b"));
}

TEST(CommandLine, NothingIsGivenByNoWords) {
    EXPECT_TRUE(words_of(0, nullptr).empty());
    EXPECT_TRUE(split({}).or_throw().empty());
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

TEST(OptionValues, AreBetweenTheirBounds) {
    std::int64_t retries = 1;
    EXPECT_TRUE(take(split({"-r", "7"}).or_throw(), "retries", retries, between(0, 10)));
    EXPECT_EQ(retries, 7);
    const auto taken = take(split({"-r", "11"}).or_throw(), "retries", retries, between(0, 10));
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error().message, HasSubstr("--retries: "));
    EXPECT_EQ(retries, 7);
}

}  // namespace
}  // namespace wq::programs
