#include "manager/report/failed_list.h"

#include <gtest/gtest.h>

#include "engine/tasklist/list.h"

namespace wq::manager::report {
namespace {

using manager::TaskTable;

IntervalSet all_of(const TaskTable& table) {
    IntervalSet all;
    all.insert({0, table.size()});
    return all;
}

std::vector<engine::tasklist::Item> read(const std::string& text) {
    engine::tasklist::ListReader reader("failed.sh");
    std::vector<engine::tasklist::Item> items;
    reader.feed(text, items).or_throw();
    reader.finish(items).or_throw();
    return items;
}

TEST(FailedList, HasTheLinesOfItsCategories) {
    TaskTable table;
    table.add_category_line("big", "#WQ-CATEGORY big cores=2");
    table.add_category_line("small", "#WQ-CATEGORY small cores=1");
    table.add_category_line("big", "#WQ-CATEGORY big concurrent=1 # one");
    table.add_line("first", 3, 0);
    engine::tasklist::Settings settings;
    settings.category = "big";
    settings.batch_environment = "keep";
    table.add_settings(settings);
    table.add_line("second", 5, 0);
    EXPECT_EQ(table.text(TaskId(1)).variables.size(), 1U);
    const std::string text = failed_list(table, all_of(table), 0, "tasks.sh", "");
    EXPECT_EQ(text,
              "# 2 failed tasks of 'tasks.sh'; this list reruns them.\n"
              "#WQ-CATEGORY big cores=2\n"
              "#WQ-CATEGORY big concurrent=1 # one\n"
              "# task 1 (line 3)\n"
              "first\n"
              "#WQ category=big batch-environment=keep\n"
              "# task 2 (line 5)\n"
              "second\n");
    EXPECT_EQ(read(text).size(), 5u);
}

TEST(FailedList, PutsEachLineIntoItsContext) {
    TaskTable table;
    engine::tasklist::Settings settings;
    table.add_line("fine", 1, 0);
    table.add_environment_line("cd x #!");
    table.add_environment_line("A=1 #! #@2");
    settings.cores = 2;
    settings.memory_mb = 300;
    settings.time = std::chrono::milliseconds(1500);
    settings.category = "big";
    table.add_settings(settings);
    table.add_line("first # remark", 5, 2, " #:g #@0");
    settings.memory_mb.reset();
    settings.time = std::chrono::hours(1);
    table.add_settings(settings);
    table.add_line("second", 7, 2);
    table.add_environment_line("cd y #!");
    table.add_settings({});
    table.add_line("third", 9, 3);
    IntervalSet failed = all_of(table);
    failed.erase(0);
    const std::string text = failed_list(table, failed, 0, "tasks.sh", "");
    EXPECT_EQ(text,
              "# 3 failed tasks of 'tasks.sh'; this list reruns them.\n"
              "cd x #!\n"
              "A=1 #! #@2\n"
              "#WQ cores=2 memory=300M time=1.5 category=big\n"
              "# task 2 (line 5)\n"
              "first # remark #:g #@0\n"
              "#WQ memory= time=3600\n"
              "# task 3 (line 7)\n"
              "second\n"
              "cd y #!\n"
              "#WQ cores= time= category=\n"
              "# task 4 (line 9)\n"
              "third\n");
    EXPECT_EQ(read(text).size(), 9u);
}

TEST(FailedList, GivesItemsOfArraysTheirIndex) {
    TaskTable table;
    const engine::tasklist::CommandTemplate command({"work", "--seed={}"});
    table.add_indexes(engine::tasklist::IndexSet::parse("5-7").or_throw(), command);
    IntervalSet failed;
    failed.insert(2);
    EXPECT_EQ(failed_list(table, failed, 0, "--array 5-7", "SLURM_ARRAY_TASK_ID"),
              "# 1 failed task of '--array 5-7'; this list reruns them.\n"
              "# task 3\n"
              "export WORK_QUEUE_TASK_INDEX=7 SLURM_ARRAY_TASK_ID=7; work --seed=7\n");
}

TEST(FailedList, SaysWhatIsNotInIt) {
    TaskTable table;
    table.add_line("false #:g", 1, 0);
    table.add_line("true #:g", 2, 0);
    IntervalSet failed;
    failed.insert(0);
    EXPECT_NE(failed_list(table, failed, 1, "a.sh", "")
                  .find("# Not included: 1 task that could not run; --resume-failed runs them, too.\n"),
              std::string::npos);
}

TEST(FailedList, IsAListWhateverTheCommandHolds) {
    for (const std::string command :
         {"a\nb", "echo {} #:tag", "echo '#@7'", "it's\\n # {}", "echo a\\", "x\ry", "bell\a and \x01\x7f"}) {
        TaskTable table;
        const engine::tasklist::CommandTemplate words({command});
        table.add_indexes(engine::tasklist::IndexSet::parse("1").or_throw(), words);
        const auto items = read(failed_list(table, all_of(table), 0, "a\nlist", ""));
        ASSERT_EQ(items.size(), 1u) << command;
        const auto* line = std::get_if<engine::tasklist::TaskLine>(items.data());
        ASSERT_NE(line, nullptr) << command;
        EXPECT_TRUE(line->groups.empty() && line->workers.empty()) << command;
    }
}

}  // namespace
}  // namespace wq::manager::report
