#include "manager/run/source.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace wq::manager::run {
namespace {

namespace fs = std::filesystem;

SourceSpec array(const std::string& indexes) {
    return {SourceSpec::Kind::array, "", indexes, {"echo {}"}};
}

TEST(TaskIndex, FindsEveryItemOfAnArrayAndNoOther) {
    for (const char* text :
         {"1-200", "3-200:7", "2-200:2,1-199:2", "150-190,3,5-80:5", "1-199:3,2-200:3,3-198:3"}) {
        const auto indexes = engine::tasklist::IndexSet::parse(text).or_throw();
        std::vector<std::optional<TaskId>> where(260);
        for (std::uint64_t item = 0; item < indexes.count(); ++item) where[indexes.at(item)] = TaskId(item);
        const auto tasks = TaskIndex::read(array(text)).or_throw();
        for (std::uint64_t index = 0; index < where.size(); ++index)
            EXPECT_EQ(tasks->find({index}), where[index]) << text << ": " << index;
    }
    const auto tasks = TaskIndex::read(array("5-6")).or_throw();
    EXPECT_EQ(tasks->command(TaskId(1)), "echo 6");
    EXPECT_EQ(tasks->line(TaskId(1)), 0u);
}

TEST(TaskIndex, FindsLinesByTheirKeysAlsoThoseThatAreEqual) {
    std::string pattern = (fs::temp_directory_path() / "wq_index_XXXXXX").string();
    const fs::path folder = ::mkdtemp(pattern.data());
    const std::string path = (folder / "list").string();
    std::ofstream(path) << "# remark\ntrue\n\nfalse #:g\ntrue\n";
    const auto tasks = TaskIndex::read({SourceSpec::Kind::list, path, "", {}}).or_throw();
    EXPECT_EQ(tasks->find({engine::tasklist::content_key("true", 0)}), TaskId(0));
    EXPECT_EQ(tasks->find({engine::tasklist::content_key("false", 0)}), TaskId(1));
    EXPECT_EQ(tasks->find({engine::tasklist::content_key("true", 1)}), TaskId(2));
    EXPECT_EQ(tasks->find({engine::tasklist::content_key("true", 2)}), std::nullopt);
    EXPECT_EQ(tasks->line(TaskId(2)), 5u);
    const auto each = TaskIndex::read({SourceSpec::Kind::each, path, "", {"echo", "{}"}}).or_throw();
    EXPECT_EQ(each->find({engine::tasklist::content_key("true", 1)}), TaskId(3));
    EXPECT_EQ(each->command(TaskId(3)), "echo true");
    fs::remove_all(folder);
    EXPECT_FALSE(TaskIndex::read({SourceSpec::Kind::list, path, "", {}}).ok());
}

TEST(TaskIndex, LeavesAStreamAlone) {
    EXPECT_EQ(TaskIndex::read({SourceSpec::Kind::list, "-", "", {}}).or_throw(), nullptr);
}

}  // namespace
}  // namespace wq::manager::run
