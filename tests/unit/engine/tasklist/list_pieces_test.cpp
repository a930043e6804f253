// Properties of the reader over random lists.
#include <gtest/gtest.h>

#include <random>

#include "item_text.h"

namespace {

using namespace wq::engine::tasklist;
using namespace wq::engine::tasklist::testing;

std::string random_list(std::mt19937& random, bool with_errors) {
    static const std::vector<std::string> good{
        "echo a",        "b 'c d'", " #!",      " #@1",       " #:g",
        " #+g",          "#:",      "\n",       "\n",         "\n",
        "\r\n",          "\r\n",    " ",        "\t",         "#WQ cores=2\n",
        "#WQ memory=\n", "# note",  "\xC3\xBC", "sed s#:x#y#"};
    static const std::vector<std::string> bad{"#@x", "\\",     std::string(1, '\0'), "#!", "'", "\"",
                                              "$(",  "#WQ x=1"};
    std::string text;
    for (std::size_t left = random() % 40; left > 0; --left) {
        text += with_errors && random() % 6 == 0 ? bad[random() % bad.size()] : good[random() % good.size()];
    }
    return text;
}

Reading read_in_pieces(std::string_view text, std::mt19937& random, std::size_t most) {
    ListReader reader("list.sh");
    Reading reading;
    auto status = wq::success();
    while (!text.empty() && status) {
        const std::size_t size = std::min<std::size_t>(random() % (most + 1), text.size());
        status = reader.feed(text.substr(0, size), reading.items);
        text.remove_prefix(size);
    }
    if (status) status = reader.finish(reading.items);
    if (!status) reading.error = status.error().message;
    reading.lines = reader.lines();
    return reading;
}

TEST(ListPieces, PiecesOfAnySizeGiveTheSame) {
    std::mt19937 random(3);
    std::size_t items = 0;
    std::size_t errors = 0;
    for (int round = 0; round < 4000; ++round) {
        const std::string text = random_list(random, round % 2 == 0);
        const Reading whole = read_list(text);
        items += whole.items.size();
        errors += whole.error.empty() ? 0 : 1;
        for (const std::size_t most : {1U, 2U, 7U, 64U}) {
            ASSERT_EQ(read_in_pieces(text, random, most), whole) << text;
        }
    }
    EXPECT_GT(items, 4000U);  // not all lists were empty or rejected at once
    EXPECT_GT(errors, 500U);
}

TEST(ListPieces, LongLinesInPieces) {
    std::mt19937 random(4);
    const std::string at_limit(ListReader::max_line_bytes, 'x');
    const std::string text = at_limit + "\n" + at_limit + "\n" + at_limit + "y\nz\n";
    const Reading whole = read_list(text);
    EXPECT_EQ(whole.items.size(), 2U);
    EXPECT_NE(whole.error, "");
    for (const std::size_t most : {1000U, 70000U, 1U << 20, 3U << 20}) {
        ASSERT_EQ(read_in_pieces(text, random, most), whole) << most;
    }
}

// A list written from its items reads the same: only tags are separated from commands.
TEST(ListPieces, ItemsWrittenAgainReadTheSame) {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        const Reading reading = read_list(random_list(random, false));
        for (const Item& item : reading.items) {
            const auto* task = std::get_if<TaskLine>(&item);
            if (task == nullptr) continue;
            std::string line = task->command;
            for (const auto& group : task->groups) line += (group.sequential ? " #:" : " #+") + group.name;
            for (const auto worker : task->workers) line += " #@" + std::to_string(worker);
            const Reading again = read_list(line);
            ASSERT_EQ(again.items.size(), 1U) << line << ": " << again.error;
            TaskLine expected = *task;
            expected.line = 1;
            expected.environment_position = 0;
            ASSERT_EQ(std::get<TaskLine>(again.items.front()), expected) << line;
        }
    }
}

// Random bytes are read, or rejected with one line.
TEST(ListPieces, GarbageIsRefusedInOneLine) {
    std::mt19937 random(6);
    for (int round = 0; round < 5000; ++round) {
        std::string text(random() % 300, ' ');
        for (char& c : text) c = static_cast<char>(random());
        const Reading reading = read_list(text);
        ASSERT_LT(reading.error.size(), 400U);
        for (const char c : reading.error) ASSERT_GE(static_cast<unsigned char>(c), 0x20) << reading.error;
    }
}

}  // namespace
