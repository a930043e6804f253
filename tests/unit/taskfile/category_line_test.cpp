// `#WQ-CATEGORY` lines.
#include "taskfile/category_line.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

namespace {

using namespace wq::taskfile;

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
    constexpr std::array modes{"fixed", "max", "min-waste", "max-throughput"};
    std::string text =
        line.name + text_of("max", line.max) + text_of("min", line.min) + text_of("first", line.first);
    if (line.mode) text += std::string(" mode=") + modes[static_cast<std::size_t>(*line.mode)];
    if (line.concurrent) text += " concurrent=" + std::to_string(*line.concurrent);
    return text;
}

struct LineCase {
    std::string words;
    std::string line;
};

class CategoryLines : public ::testing::TestWithParam<LineCase> {};

TEST_P(CategoryLines, AreRead) {
    const auto line = parse_category_line(GetParam().words);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(text_of(*line), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    All, CategoryLines,
    ::testing::Values(
        LineCase{" align cores=2 memory=1G disk=10G gpus=1 mode=max-throughput concurrent=10",
                 "align max cores=2 memory=1024 disk=10240 gpus=1 mode=max-throughput concurrent=10"},
        LineCase{"align max cores=2 min memory=512M first memory=1G cores=1",
                 "align max cores=2 min memory=512 first cores=1 memory=1024"},
        LineCase{"align cores=2 min memory=1k max disk=0", "align max cores=2 disk=0 min memory=1"},
        LineCase{"\ta\tmin\tcores=0 ", "a min cores=0"}, LineCase{"a max", "a max"},
        LineCase{"a memory=", "a max"}, LineCase{"a min first", "a min first"},
        LineCase{"a mode=fixed", "a mode=fixed"}, LineCase{"a mode=max", "a mode=max"},
        LineCase{"a mode=min-waste", "a mode=min-waste"}, LineCase{"a concurrent=", "a concurrent=-1"},
        LineCase{"a min mode=max concurrent=1 cores=1", "a min cores=1 mode=max concurrent=1"},
        LineCase{"a cores=1 # cores=2", "a max cores=1"},
        LineCase{"blast.v2-x gpus=1", "blast.v2-x max gpus=1"},
        LineCase{"maximum gpus=1", "maximum max gpus=1"},
        LineCase{"a max memory=1G min memory=1G first memory=9G",
                 "a max memory=1024 min memory=1024 first memory=9216"}));

struct BadLine {
    std::string words;
    std::string message;
};

class BadCategoryLines : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadCategoryLines, AreRefusedInOneLine) {
    const auto line = parse_category_line(GetParam().words);
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().message, GetParam().message);
    EXPECT_EQ(line.error().code, wq::ExitCode::bad_input);
}

const std::string fraction = " (with up to three digits behind a point)";
const std::string usage =
    "; write #WQ-CATEGORY NAME, then cores= memory= disk= gpus= behind max, min or first, and mode= "
    "concurrent=";
const std::string unknown = " in a #WQ-CATEGORY line";

INSTANTIATE_TEST_SUITE_P(
    Words, BadCategoryLines,
    ::testing::Values(
        BadLine{"", "a #WQ-CATEGORY line without a category" + usage},
        BadLine{" # align", "a #WQ-CATEGORY line without a category" + usage},
        BadLine{"align", "nothing is said of the category 'align'" + usage},
        BadLine{"align # cores=1", "nothing is said of the category 'align'" + usage},
        BadLine{"cores=2 memory=1G", "'cores=2' stands where the name of the category belongs" + usage},
        BadLine{"max cores=2", "'max' stands where the name of the category belongs" + usage},
        BadLine{"'a cores=1", "''a' is no name of a category; use letters, digits and _ . -"},
        BadLine{"a maximum cores=2", "unknown word 'maximum'" + unknown + " (did you mean 'max'?)" + usage},
        BadLine{"a frist cores=2", "unknown word 'frist'" + unknown + " (did you mean 'first'?)" + usage},
        BadLine{"a mem=2", "unknown word 'mem'" + unknown + " (did you mean 'memory'?)" + usage},
        BadLine{"a max=2", "unknown word 'max'" + unknown + usage},
        BadLine{"a time=2", "unknown word 'time'" + unknown + usage},
        BadLine{"a " + std::string(5000, 'k'),
                "unknown word '" + std::string(75, 'k') + "'..." + unknown + usage},
        BadLine{"a cores", "'cores' has no value; write cores=VALUE" + usage},
        BadLine{"a cores=1 cores=2", "'cores' is given twice in one #WQ-CATEGORY line; keep one" + usage},
        BadLine{"a cores=1 min cores=1 max cores=2",
                "'cores' is given twice in one #WQ-CATEGORY line; keep one" + usage},
        BadLine{"a mode=max min mode=max",
                "'mode' is given twice in one #WQ-CATEGORY line; keep one" + usage}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadCategoryLines,
    ::testing::Values(
        BadLine{"a cores=two",
                "bad value of 'cores': 'two' is no number from 0 to 100000" + fraction + usage},
        BadLine{"a cores=0",
                "bad value of 'cores': a category gives its tasks more than 0; write #WQ cores=0 above "
                "those that only wait"},
        BadLine{"a first cores=0.0 memory=1G",
                "bad value of 'cores': a category gives its tasks more than 0; write #WQ cores=0 above "
                "those that only wait"},
        BadLine{"a cores=1e9",
                "bad value of 'cores': '1e9' is no number from 0 to 100000" + fraction + usage},
        BadLine{"a gpus=-1", "bad value of 'gpus': '-1' is no number from 0 to 100000" + fraction + usage},
        BadLine{"a memory=4X",
                "bad value of 'memory': '4X' is no size up to 4096 PiB; write 512M, 4G or 1.5T" + usage},
        BadLine{
            "a min memory=0",
            "bad value of 'memory': no task runs in '0' bytes; 'memory=' goes back to the default" + usage},
        BadLine{"a mode=greedy",
                "bad value of 'mode': 'greedy' is none of fixed, max, min-waste and max-throughput" + usage},
        BadLine{"a mode=",
                "bad value of 'mode': '' is none of fixed, max, min-waste and max-throughput" + usage},
        BadLine{"a concurrent=0",
                "bad value of 'concurrent': '0' is no whole number from 1 to 1000000000" + usage},
        BadLine{"a concurrent=lots",
                "bad value of 'concurrent': 'lots' is no whole number from 1 to 1000000000" + usage}));

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
              "the min of 'cores' is above its max (line 3 says the other); raise the max");
    EXPECT_EQ(said_of("b max cores=3.5"),
              "the min of 'cores' is above its max (line 4 says the other); raise the max");
    EXPECT_EQ(said_of("c max cores=2 min cores=1"), "");
    EXPECT_EQ(said_of("c max cores=8 min cores=4"), "");
    EXPECT_EQ(said_of("c max"), "");
    EXPECT_EQ(said_of("c min cores=100"), "");
}

// Every prefix of a line is read or refused, in one line of text.
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
