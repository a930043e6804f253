// `#WQ-CATEGORY` lines.
#include "engine/tasklist/category_line.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

namespace {

using namespace wq::engine::tasklist;

std::string text_of(const char* part, const std::optional<CategoryResources>& sizes) {
    if (!sizes) return {};
    std::string text = std::string(" ") + part;
    const auto add = [&](const char* key, const std::optional<wq::Count>& value) {
        if (value) text += std::string(" ") + key + "=" + wq::format_count_with_fraction(*value);
    };
    add("cores", sizes->cores);
    add("memory", sizes->memory_mb);
    add("disk", sizes->disk_mb);
    add("gpus", sizes->gpus);
    return text;
}

std::string text_of(const CategoryLine& line) {
    constexpr std::array modes{"fixed",
                               "max",
                               "min-waste",
                               "max-throughput",
                               "greedy-bucketing",
                               "exhaustive-bucketing",
                               "det-greedy-bucketing",
                               "det-exhaustive-bucketing",
                               "quantized-bucketing"};
    std::string text =
        line.name + text_of("max", line.max) + text_of("min", line.min) + text_of("first", line.first);
    if (line.mode) text += std::string(" mode=") + modes[static_cast<std::size_t>(*line.mode)];
    if (line.concurrent) text += " concurrent=" + std::to_string(*line.concurrent);
    return text;
}

struct CategoryLineCase {
    std::string words;
    std::string line;
};

class CategoryLines : public ::testing::TestWithParam<CategoryLineCase> {};

TEST_P(CategoryLines, AreRead) {
    const auto line = parse_category_line(GetParam().words);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(text_of(*line), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    All, CategoryLines,
    ::testing::Values(
        CategoryLineCase{" align cores=2 memory=1G disk=10G gpus=1 mode=max-throughput concurrent=10",
                         "align max cores=2 memory=1024 disk=10240 gpus=1 mode=max-throughput concurrent=10"},
        CategoryLineCase{"align max cores=2 min memory=512M first memory=1G cores=1",
                         "align max cores=2 min memory=512 first cores=1 memory=1024"},
        CategoryLineCase{"align cores=2 min memory=1k max disk=0", "align max cores=2 disk=0 min memory=1"},
        CategoryLineCase{"\ta\tmin\tcores=0 ", "a min cores=0"}, CategoryLineCase{"a max", "a max"},
        CategoryLineCase{"a memory=", "a max"}, CategoryLineCase{"a min first", "a min first"},
        CategoryLineCase{"a mode=fixed", "a mode=fixed"}, CategoryLineCase{"a mode=max", "a mode=max"},
        CategoryLineCase{"a mode=min-waste", "a mode=min-waste"},
        CategoryLineCase{"a mode=greedy-bucketing", "a mode=greedy-bucketing"},
        CategoryLineCase{"a mode=exhaustive-bucketing", "a mode=exhaustive-bucketing"},
        CategoryLineCase{"a mode=det-greedy-bucketing", "a mode=det-greedy-bucketing"},
        CategoryLineCase{"a mode=det-exhaustive-bucketing", "a mode=det-exhaustive-bucketing"},
        CategoryLineCase{"a mode=quantized-bucketing", "a mode=quantized-bucketing"},
        CategoryLineCase{"a concurrent=", "a concurrent=-1"},
        CategoryLineCase{"a min mode=max concurrent=1 cores=1", "a min cores=1 mode=max concurrent=1"},
        CategoryLineCase{"a cores=1 # cores=2", "a max cores=1"},
        CategoryLineCase{"blast.v2-x gpus=1", "blast.v2-x max gpus=1"},
        CategoryLineCase{"maximum gpus=1", "maximum max gpus=1"},
        CategoryLineCase{"a max memory=1G min memory=1G first memory=9G",
                         "a max memory=1024 min memory=1024 first memory=9216"}));

struct BadCategoryLine {
    std::string words;
    std::string message;
};

class BadCategoryLines : public ::testing::TestWithParam<BadCategoryLine> {};

TEST_P(BadCategoryLines, AreRefusedInOneLine) {
    const auto line = parse_category_line(GetParam().words);
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().message, GetParam().message);
    EXPECT_EQ(line.error().code, wq::ExitCode::bad_input);
}

const std::string fraction = " (with at most three decimals)";
const std::string all_modes =
    "fixed, max, min-waste, max-throughput, greedy-bucketing, exhaustive-bucketing, det-greedy-bucketing, "
    "det-exhaustive-bucketing, quantized-bucketing";
const std::string usage =
    "; write #WQ-CATEGORY NAME, then cores= memory= disk= gpus= after max, min or first, and mode= "
    "concurrent=";
const std::string unknown = " in a #WQ-CATEGORY line";

INSTANTIATE_TEST_SUITE_P(
    Words, BadCategoryLines,
    ::testing::Values(
        BadCategoryLine{"", "a #WQ-CATEGORY line without a category" + usage},
        BadCategoryLine{" # align", "a #WQ-CATEGORY line without a category" + usage},
        BadCategoryLine{"align", "there are no settings for the category 'align'" + usage},
        BadCategoryLine{"align # cores=1", "there are no settings for the category 'align'" + usage},
        BadCategoryLine{"cores=2 memory=1G", "'cores=2' is not a category name, which comes first" + usage},
        BadCategoryLine{"max cores=2", "'max' is not a category name, which comes first" + usage},
        BadCategoryLine{"'a cores=1", "''a' is not a category name; use letters, digits and _ . -"},
        BadCategoryLine{"a maximum cores=2",
                        "unknown word 'maximum'" + unknown + " (did you mean 'max'?)" + usage},
        BadCategoryLine{"a frist cores=2",
                        "unknown word 'frist'" + unknown + " (did you mean 'first'?)" + usage},
        BadCategoryLine{"a mem=2", "unknown word 'mem'" + unknown + " (did you mean 'memory'?)" + usage},
        BadCategoryLine{"a max=2", "unknown word 'max'" + unknown + usage},
        BadCategoryLine{"a time=2", "unknown word 'time'" + unknown + usage},
        BadCategoryLine{"a " + std::string(5000, 'k'),
                        "unknown word '" + std::string(75, 'k') + "'..." + unknown + usage},
        BadCategoryLine{"a cores", "'cores' has no value; write cores=VALUE" + usage},
        BadCategoryLine{"a cores=1 cores=2",
                        "'cores' is given twice in one #WQ-CATEGORY line; keep one" + usage},
        BadCategoryLine{"a cores=1 min cores=1 max cores=2",
                        "'cores' is given twice in one #WQ-CATEGORY line; keep one" + usage},
        BadCategoryLine{"a mode=max min mode=max",
                        "'mode' is given twice in one #WQ-CATEGORY line; keep one" + usage}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadCategoryLines,
    ::testing::Values(
        BadCategoryLine{"a cores=two",
                        "bad value of 'cores': 'two' is not a number from 0 to 100000" + fraction + usage},
        BadCategoryLine{"a cores=0",
                        "bad value of 'cores': its tasks need more than 0; write #WQ cores=0 above tasks "
                        "that only wait"},
        BadCategoryLine{"a first cores=0.0 memory=1G",
                        "bad value of 'cores': its tasks need more than 0; write #WQ cores=0 above tasks "
                        "that only wait"},
        BadCategoryLine{"a cores=1e9",
                        "bad value of 'cores': '1e9' is not a number from 0 to 100000" + fraction + usage},
        BadCategoryLine{"a gpus=-1",
                        "bad value of 'gpus': '-1' is not a number from 0 to 100000" + fraction + usage},
        BadCategoryLine{
            "a memory=4X",
            "bad value of 'memory': '4X' is not a size up to 4096 PiB; write 512M, 4G or 1.5T" + usage},
        BadCategoryLine{
            "a min memory=0",
            "bad value of 'memory': a task needs more than '0' bytes; 'memory=' restores the default" +
                usage},
        BadCategoryLine{"a mode=greedy", "bad value of 'mode': 'greedy' is not one of " + all_modes + usage},
        BadCategoryLine{"a mode=", "bad value of 'mode': '' is not one of " + all_modes + usage},
        BadCategoryLine{"a concurrent=0",
                        "bad value of 'concurrent': '0' is not a whole number from 1 to 1000000000" + usage},
        BadCategoryLine{
            "a concurrent=lots",
            "bad value of 'concurrent': 'lots' is not a whole number from 1 to 1000000000" + usage}));

TEST(CategoryBounds, NoLeastIsAboveTheMostInOneLineOrInTwo) {
    CategoryBounds bounds;
    std::uint64_t number = 0;
    const auto said_of = [&](std::string_view words) -> std::string {
        const wq::Status status = bounds.take(parse_category_line(words).or_throw(), ++number);
        return status ? "" : status.error().message;
    };
    EXPECT_EQ(said_of("one max memory=1G min memory=2G"),
              "the min of 'memory' is above its max; raise the max");
    EXPECT_EQ(said_of("two min gpus=2 max gpus=1"), "the min of 'gpus' is above its max; raise the max");
    EXPECT_EQ(said_of("a cores=2"), "");
    EXPECT_EQ(said_of("b min cores=4"), "");
    EXPECT_EQ(said_of("a min memory=1G"), "");
    EXPECT_EQ(said_of("a min cores=4"),
              "the min of 'cores' is above its max (line 3 sets the other); raise the max");
    EXPECT_EQ(said_of("b max cores=3.5"),
              "the min of 'cores' is above its max (line 4 sets the other); raise the max");
    EXPECT_EQ(said_of("c max cores=2 min cores=1"), "");
    EXPECT_EQ(said_of("c max cores=8 min cores=4"), "");
    EXPECT_EQ(said_of("c max"), "");
    EXPECT_EQ(said_of("c min cores=100"), "");
}

// Every prefix of a line is read or rejected, with one line of text.
TEST(CategoryLine, IsNeverMoreThanOneLineOfError) {
    const std::string line = "a max cores=2 min memory=512M \x01 \xff first disk=9 mode=max-waste =x = ==";
    for (std::size_t size = 0; size <= line.size(); ++size) {
        const auto parsed = parse_category_line(std::string_view(line).substr(0, size));
        if (parsed) continue;
        EXPECT_FALSE(parsed.error().message.empty());
        EXPECT_EQ(parsed.error().message.find_first_of("\n\x01"), std::string::npos);
    }
}

}  // namespace
