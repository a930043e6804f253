// The page of the user guide matches the reader: runs its examples and tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "item_text.h"
#include "support/source_dir.h"

namespace {

using namespace wq::engine::tasklist;
using namespace wq::engine::tasklist::testing;

std::vector<std::string> guide() {
    std::ifstream file(wq::test::source_dir() / "share/doc/task-lists.md");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    EXPECT_FALSE(lines.empty()) << "the guide's page was not found";
    return lines;
}

// The cells of a row in which at least the first is `code`; code cells without their backticks.
std::vector<std::string> code_row(const std::string& line) {
    std::vector<std::string> cells;
    if (!line.starts_with("| `")) return cells;
    std::istringstream rest(line.substr(2));
    for (std::string cell; std::getline(rest, cell, '|');) {
        const auto first = cell.find('`');
        const auto last = cell.rfind('`');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first + 1, last - first - 1));
    }
    return cells;
}

// The rows of the table whose head is `head`.
std::vector<std::vector<std::string>> table(const std::string& head) {
    std::vector<std::vector<std::string>> rows;
    bool inside = false;
    for (const std::string& line : guide()) {
        inside = line == head || (inside && line.starts_with("|"));
        if (auto cells = code_row(line); inside && !cells.empty()) rows.push_back(std::move(cells));
    }
    return rows;
}

TEST(Guide, EveryExampleIsAListWithoutErrors) {
    std::string block;
    bool inside = false;
    int blocks = 0;
    for (const std::string& line : guide()) {
        if (inside && line == "```") {
            const Reading reading = read_list(block);
            EXPECT_EQ(reading.error, "") << block;
            EXPECT_FALSE(reading.items.empty()) << block;
            ++blocks;
            block.clear();
        }
        if (inside && line != "```") block += line + "\n";
        if (line.starts_with("```")) inside = !inside && line == "```sh";
    }
    EXPECT_EQ(blocks, 6);
}

TEST(Guide, WhatIsNotATag) {
    const auto rows = table("| line | command | tags |");
    EXPECT_EQ(rows.size(), 5U);
    for (const auto& row : rows) {
        const Reading reading = read_list(row.at(0));
        ASSERT_EQ(reading.items.size(), 1U) << row.at(0);
        const auto& task = std::get<TaskLine>(reading.items.front());
        EXPECT_EQ(task.command, row.at(1));
        EXPECT_EQ(task.groups.empty(), row.at(2).empty()) << row.at(0);
    }
}

TEST(Guide, LostTagsAreErrorsAndTheRemedyIsNone) {
    const auto rows = table("| line | why | write |");
    EXPECT_EQ(rows.size(), 7U);
    for (const auto& row : rows) {
        EXPECT_NE(read_list(row.at(0)).error, "") << row.at(0);
        const std::string remedy = row.at(2).substr(0, row.at(2).find('`'));
        EXPECT_EQ(read_list(remedy).error, "") << remedy;
        EXPECT_EQ(read_list(remedy).items.size(), 1U) << remedy;
    }
}

TEST(Guide, EveryKeyIsInTheTable) {
    for (const auto& row : table("| key | means | written as | default |")) {
        EXPECT_EQ(read_list("#WQ " + row.at(0) + "=").error, "") << row.at(0);
    }
    EXPECT_EQ(table("| key | means | written as | default |").size(), 11U);
}

}  // namespace
