#include "shared_list/text/edit.h"

#include <gtest/gtest.h>

#include "random_list.h"
#include "shared_list/text/merge.h"

namespace {

using namespace wq::shared_list::text;
using wq::shared_list::text::testing::RandomList;

TEST(Record, IsReadBack) {
    Record record{7, "ab.1", {}, false};
    record.edits = {
        Join{3, "host\t1.2.3.4 \\n", "01-01 00:00:00"}, Take{9, 3, "01-01 00:00:01", "echo \\ \xff '"},
        End{9, 3, "01-01 00:00:01", "01-01 00:00:02", TryEnd::error, 77, "echo \r\n\t"}, Append{"a\nb\n"}};
    const std::string line = to_line(record);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(record_of(line), record);
    const Record reread{8, "ab.2", {}, true};
    EXPECT_EQ(record_of(to_line(reread)), reread);
}

TEST(Record, IsRefusedWhenTorn) {
    Record record{7, "ab.1", {Take{9, 3, "01-01 00:00:01", "echo a"}}, false};
    const std::string line = to_line(record);
    for (std::size_t size = 0; size < line.size(); ++size)
        EXPECT_FALSE(record_of(line.substr(0, size))) << size;
    for (std::size_t at = 0; at < line.size(); ++at) {
        std::string garbled = line;
        garbled[at] = static_cast<char>(garbled[at] ^ 1);
        EXPECT_FALSE(record_of(garbled)) << at;
    }
}

// An editor that read the list early and wrote it late, with a line of its own: all marks are there again.
TEST(Merge, MakesAgainWhatAnEditorUndid) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        RandomList random(seed);
        Document list = Document::read(random.text(8)).value();
        std::vector<Edit> history;
        const std::uint64_t read_at = random.below(20);
        std::string read;
        for (std::uint64_t step = 0; step < 20; ++step) {
            if (step == read_at) read = list.bytes();
            history.push_back(random.edit(list));
            if (const auto* end = std::get_if<End>(&history.back());
                end != nullptr && end->command == "gone") {
                history.pop_back();
                continue;
            }
            list.apply(history.back());
        }
        if (!read.empty() && !read.ends_with('\n')) read += '\n';
        const Merged merged = merge(read + "echo new\n", {history, history.size(), true}).value();
        for (std::uint64_t at = 1; at <= list.lines(); ++at) {
            if (list.line(at).tries.empty()) continue;
            bool stands = false;
            for (std::uint64_t other = 1; other <= merged.list.lines(); ++other)
                stands |= merged.list.line(other).command == list.line(at).command &&
                          merged.list.line(other).tries.size() == list.line(at).tries.size();
            ASSERT_TRUE(stands) << seed << ": " << list.line(at).text << "\n" << merged.list.bytes();
        }
    }
}

TEST(Merge, AppendsAgainUnlessAllLinesStandTogether) {
    const std::vector<Edit> history{Append{"# more\n\nmake\nfoo\n"}};
    EXPECT_EQ(merge("make\n\nbar\n", {history, history.size(), true}).value().list.bytes(),
              "make\n\nbar\n# more\n\nmake\nfoo\n");
    const std::string there =
        "bar\n# more\n\n#make # worker 0 # (01-01 00:00:01 ... 01-01 00:00:02) #ok\nfoo\n";
    EXPECT_EQ(merge(there, {history, history.size(), true}).value().list.bytes(), there);
}

TEST(Merge, LeavesWhatWasRemovedOnPurpose) {
    Document list = Document::read("echo a\necho b\n").value();
    const std::vector<Edit> history{Take{1, 0, "01-01 00:00:01", "echo a"},
                                    End{1, 0, "01-01 00:00:01", "01-01 00:00:02", TryEnd::ok, 0, "echo a"},
                                    Take{2, 0, "01-01 00:00:02", "echo b"}};
    for (const Edit& edit : history) list.apply(edit);
    // "echo a" shall run again.
    const std::string edited = "echo a\n" + list.line(2).text + "\n";
    const Merged merged = merge(edited, {history, history.size(), true}).value();
    EXPECT_EQ(merged.made_again, 0U);
    EXPECT_EQ(merged.list.bytes(), edited);
    // Nothing stands: all was undone.
    EXPECT_EQ(merge("echo a\necho b\n", {history, history.size(), true}).value().list.bytes(), list.bytes());
}

}  // namespace
