#include "manager/task_table.h"

#include <gtest/gtest.h>
#include <malloc.h>

namespace wq::manager {
namespace {

const engine::tasklist::CommandTemplate square({"square", "{}"});
const engine::tasklist::CommandTemplate gzip({"gzip {} > {}.gz"});

TEST(TaskTable, KeepsTheTextOfManyLinesInBlocks) {
    TaskTable table;
    const std::string padding(3000, 'x');
    constexpr std::uint64_t lines = 5000;  // 15 MB: several blocks
    for (std::uint64_t n = 0; n < lines; ++n) table.add_line(std::to_string(n) + padding, 3 * n + 1, 0);
    ASSERT_EQ(table.size(), lines);
    for (const std::uint64_t n : {0U, 1U, 1397U, 1398U, 2500U, 4999U}) {
        const TaskText text = table.text(TaskId(n));
        EXPECT_EQ(text.command, std::to_string(n) + padding);
        EXPECT_EQ(text.line, 3 * n + 1);
        EXPECT_TRUE(text.variables.empty());
    }
}

// 16 bytes are what a task may cost besides its text once it is done, and the core takes a little, too.
TEST(TaskTable, EqualLinesTakeFewBytesBesidesTheirText) {
    constexpr std::uint64_t lines = 1'000'000;
    const std::string text = "./simulate --replica";
    const auto heap = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };  // small and large pieces
    const std::size_t before = heap();
    TaskTable table;
    for (std::uint64_t n = 0; n < lines; ++n) table.add_line(text, n + 1, 0);
    table.input_ended();
    const auto taken = static_cast<double>(heap() - before);
    const double each = taken / lines - static_cast<double>(text.size());
    EXPECT_LT(each, 13);
    for (const std::uint64_t n : {0U, 1U, 200'000U, 999'999U})
        EXPECT_EQ(table.key(TaskId(n)).value,
                  engine::tasklist::content_key(text, static_cast<std::uint32_t>(n)));
}

TEST(TaskTable, KnowsWhatStoodAboveEachLine) {
    TaskTable table;
    engine::tasklist::Settings large;
    large.cores = 4;
    table.add_line("a", 1, 0);
    table.add_environment_line("cd x #!");
    table.add_line("b", 3, 1, " #:g");
    table.add_settings(large);
    table.add_line("c", 5, 1);
    table.add_environment_line("cd y #! #@1");
    table.add_line("d", 7, 2);
    const auto position = [&](std::uint64_t task) { return table.text(TaskId(task)).environment_position; };
    EXPECT_EQ((std::vector{position(0), position(1), position(2), position(3)}),
              (std::vector<std::uint64_t>{0, 1, 1, 2}));
    EXPECT_EQ(table.tags(TaskId(1)), " #:g");
    EXPECT_EQ(table.tags(TaskId(2)), "");
    EXPECT_EQ(table.settings(TaskId(1)), engine::tasklist::Settings{});
    EXPECT_EQ(table.settings(TaskId(2)), large);
    EXPECT_EQ(table.settings(TaskId(3)), large);
}

TEST(TaskTable, TellsEqualLinesApartByTheirOrder) {
    TaskTable first;
    for (const char* line : {"same", "other", "same", "same"}) first.add_line(line, 1, 0);
    TaskTable edited;  // one was moved and one was added
    for (const char* line : {"new", "same", "same", "other", "same", "same"}) edited.add_line(line, 9, 2);
    EXPECT_EQ(first.key(TaskId(0)), edited.key(TaskId(1)));
    EXPECT_EQ(first.key(TaskId(2)), edited.key(TaskId(2)));
    EXPECT_EQ(first.key(TaskId(3)), edited.key(TaskId(4)));
    EXPECT_EQ(first.key(TaskId(1)), edited.key(TaskId(3)));
    EXPECT_NE(first.key(TaskId(0)), first.key(TaskId(2)));
    EXPECT_NE(edited.key(TaskId(4)), edited.key(TaskId(5)));
}

TEST(TaskTable, GivesArraysAsRanges) {
    TaskTable table;
    table.add_line("before", 1, 0);
    const auto indexes = engine::tasklist::IndexSet::parse("10-1000000000:10,7").or_throw();
    const TaskId first = table.add_indexes(indexes, square);
    EXPECT_EQ(first, TaskId(1));
    EXPECT_EQ(table.size(), 1 + 100'000'001u);
    const TaskText text = table.text(TaskId(3));
    EXPECT_EQ(text.command, "square 30");
    EXPECT_EQ(text.line, 0u);
    ASSERT_EQ(text.variables.size(), 1u);
    EXPECT_EQ(text.variables, (EnvironmentChanges{{"WORK_QUEUE_TASK_INDEX", "30"}}));
    EXPECT_EQ(table.command(TaskId(100'000'001)), "square 7");
    EXPECT_EQ(table.key(TaskId(3)).value, 30u);
    EXPECT_EQ(table.command(TaskId(0)), "before");
}

TEST(TaskTable, AnnouncesABatchOfAnArrayByItsTemplate) {
    TaskTable table;
    table.add_line("before", 1, 0);
    table.add_indexes(engine::tasklist::IndexSet::parse("1-100").or_throw(), square);
    table.add_indexes(engine::tasklist::IndexSet::parse("1-100").or_throw(), gzip);
    const auto announced = [&](std::uint64_t from, std::uint64_t to) {
        IntervalSet tasks;
        tasks.insert({from, to});
        net::messages::SealedBatch sealed;
        table.describe(tasks, sealed);
        return sealed;
    };
    EXPECT_EQ(announced(1, 50).command, square.words());
    EXPECT_EQ(announced(1, 50).first_item, TaskId(1));
    EXPECT_EQ(announced(120, 150).command, gzip.words());
    EXPECT_TRUE(announced(50, 150).command.empty());
    EXPECT_TRUE(announced(0, 1).command.empty());
}

TEST(TaskTable, PutsValuesIntoTheirTemplate) {
    TaskTable table;
    const TaskId task = table.add_value("a b.txt", 4, gzip);  // the line's number is its index
    EXPECT_EQ(table.text(task).command, "gzip 'a b.txt' > 'a b.txt'.gz");
    EXPECT_EQ(table.text(task).line, 4u);
    EXPECT_EQ(table.text(task).variables[0].second, "4");
}

}  // namespace
}  // namespace wq::manager
