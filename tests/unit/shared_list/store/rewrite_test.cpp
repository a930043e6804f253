// How a list is rewritten, by each way to it.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;
using text::Splice;

class Rewrite : public EveryWay {
  protected:
    // The list after `splices` of `before`, and that the log and the answer tell of it.
    std::string rewritten(const std::string& before, std::vector<Splice> splices) {
        write_file(list(), before);
        if (!store_) store_ = opened(list());
        Request request = rewriting(version(*store_), std::move(splices));
        request.records = "record\n";
        const Answer answer = ask(*store_, request);
        EXPECT_TRUE(answer.changed);
        EXPECT_GT(answer.rewriting.count(), 0);
        const std::string log = read_file(list() + ".runtask/edits");
        EXPECT_TRUE(log.ends_with("record\nFILE " + answer.now.file + "\n")) << log;
        EXPECT_EQ(answer.now.log_bytes, log.size());
        const Answer again = ask(*store_, append(answer.now, "another\n"));
        EXPECT_TRUE(again.changed);
        EXPECT_FALSE(again.file.has_value());
        EXPECT_FALSE(std::filesystem::exists(list() + ".runtask/new"));
        EXPECT_EQ(files_in_place(), 0);
        return read_file(list());
    }
    std::ptrdiff_t files_in_place() const {
        return std::ranges::count_if(
            std::filesystem::directory_iterator(list() + ".runtask"),
            [](const auto& entry) { return entry.path().filename().string().starts_with("in_place"); });
    }
    std::unique_ptr<ListStore> store_;
};

std::string spliced(std::string text, const std::vector<Splice>& splices) {
    for (auto at = splices.rbegin(); at != splices.rend(); ++at)
        text.replace(at->offset, at->length, at->text);
    return text;
}

TEST_P(Rewrite, SplicesAnywhere) {
    EXPECT_EQ(rewritten("", {}), "");
    EXPECT_EQ(rewritten("", {{0, 0, "a\n"}}), "a\n");
    EXPECT_EQ(rewritten("a\nb\nc\n", {{2, 2, "long line\n"}}), "a\nlong line\nc\n");
    EXPECT_EQ(rewritten("a\nb\nc\n", {{0, 0, "#LASTWORKER 0\n"}, {4, 1, "#c"}}), "#LASTWORKER 0\na\nb\n#c\n");
    EXPECT_EQ(rewritten("a\nb", {{3, 0, "\n# worker\n"}}), "a\nb\n# worker\n");
    EXPECT_EQ(rewritten("a\nb", {{0, 0, "x"}}), "xa\nb");
    EXPECT_EQ(rewritten("a\nb\n\n", {{0, 5, ""}}), "");
    EXPECT_EQ(rewritten("a\r\nb\r\n", {{1, 0, " #x\n\n"}, {3, 1, "\n"}}), "a #x\n\n\r\n\n\r\n");
    EXPECT_EQ(rewritten("one\ntwo\nthree", {{0, 4, ""}, {8, 5, "3"}}), "two\n3");
}

TEST_P(Rewrite, KeepsEveryByte) {
    std::string all;
    for (int i = 1; i < 256; ++i) all.push_back(static_cast<char>(i));
    const std::vector<Splice> splices{{0, 1, all}, {100, 3, all + all}, {255 * 2, 0, all}};
    EXPECT_EQ(rewritten(all + all, splices), spliced(all + all, splices));
    EXPECT_EQ(rewritten("0 0 1\n%s\\n\\\n", {{3, 0, "%d 1 2\\t\n&"}}), "0 0%d 1 2\\t\n& 1\n%s\\n\\\n");
}

TEST_P(Rewrite, LargeListsAndLongLines) {
    std::string text;
    std::mt19937 random(7);
    while (text.size() < (is_long ? 5'000'000U : 500'000U))
        text += std::string(random() % 100, static_cast<char>('a' + random() % 26)) + "\n";
    text += std::string(is_long ? 1'000'000 : 100'000, 'q') + "\n";
    std::vector<Splice> splices;
    for (std::uint64_t at = 0; at + 2000 < text.size(); at += 1000 + random() % 1000)
        splices.push_back({at, random() % 200, std::string(random() % 200, 's') + "\n"});
    splices.push_back({text.size() - 1, 1, std::string(is_long ? 1'000'000 : 100'000, 'e')});
    EXPECT_TRUE(rewritten(text, splices) == spliced(text, splices));
}

TEST_P(Rewrite, RefusesWhatDoesNotFit) {
    write_file(list(), "a\n");
    auto store = opened(list());
    const Version known = version(*store);
    EXPECT_FALSE(store->exchange(rewriting(known, {{1, 5, "x"}})).ok());
    EXPECT_EQ(read_file(list()), "a\n");
    EXPECT_EQ(version(*store), known);
}

TEST_P(Rewrite, AllNamesOfASymbolicLinkShareTheLockAndStayLinks) {
    std::filesystem::create_directories(folder_ / "real");
    const std::string real = folder_ / "real/list.sh";
    write_file(real, "a\n");
    std::filesystem::create_symlink("real/list.sh", folder_ / "near");
    std::filesystem::create_symlink(folder_ / "near", list());
    auto store = opened(list());
    EXPECT_TRUE(ask(*store, rewriting(version(*store), {{0, 0, "#"}})).changed);
    EXPECT_TRUE(std::filesystem::is_symlink(list()));
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "near"));
    EXPECT_EQ(read_file(real), "#a\n");
    EXPECT_TRUE(std::filesystem::exists(real + ".lock"));
    EXPECT_FALSE(std::filesystem::exists(list() + ".lock"));
    auto other = opened(real);
    EXPECT_EQ(version(*other), version(*store));
}

TEST_P(Rewrite, ALinkToAListThatIsMade) {
    std::filesystem::create_symlink("later", list());
    auto store = opened(list());
    EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "later"));
}

TEST_P(Rewrite, KeepsModeAndOwner) {
    write_file(list(), "a\n");
    ASSERT_EQ(chmod(list().c_str(), 0640), 0);
    const bool root = geteuid() == 0;
    if (root) {
        ASSERT_EQ(chown(list().c_str(), 12345, 23456), 0);
    }
    auto store = opened(list());
    ASSERT_TRUE(ask(*store, rewriting(version(*store), {{0, 0, "#"}})).changed);
    struct stat now {};
    ASSERT_EQ(stat(list().c_str(), &now), 0);
    EXPECT_EQ(now.st_mode & 07777, 0640U);
    EXPECT_EQ(now.st_uid, root ? 12345 : geteuid());
    if (root) {
        EXPECT_EQ(now.st_gid, 23456U);
    }
    EXPECT_EQ(read_file(list()), "#a\n");
}

TEST_P(Rewrite, KeepsAnAccessControlList) {
    if (where_is("setfacl").empty()) GTEST_SKIP() << "no setfacl";
    write_file(list(), "a\n");
    if (std::system(("setfacl -m u:nobody:rw '" + list() + "' 2>/dev/null").c_str()) != 0)
        GTEST_SKIP() << "no access control lists in " << folder_.path();
    const auto rights = [&] {
        std::string text(1000, '\0');
        const ssize_t bytes = getxattr(list().c_str(), "system.posix_acl_access", text.data(), text.size());
        return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    };
    const std::string before = rights();
    ASSERT_FALSE(before.empty());
    auto store = opened(list());
    ASSERT_TRUE(ask(*store, rewriting(version(*store), {{0, 0, "#"}})).changed);
    EXPECT_EQ(rights(), before);
    EXPECT_EQ(read_file(list()), "#a\n");
}

TEST_P(Rewrite, ANewLogGoesWithIt) {
    write_file(list(), "#a # worker 0 #\n");
    auto store = opened(list());
    const Version known = version(*store);
    Request request = rewriting(known, {{0, 16, "a\n"}});
    request.records = "first\n";
    request.new_log = true;
    const Answer answer = ask(*store, request);
    EXPECT_TRUE(answer.changed);
    EXPECT_NE(answer.now.log, known.log);
    EXPECT_EQ(read_file(list()), "a\n");
    EXPECT_EQ(read_file(list() + ".runtask/edits"),
              "LOG " + answer.now.log + "\nfirst\nFILE " + answer.now.file + "\n");
    EXPECT_TRUE(ask(*store, append(answer.now, "second\n")).changed);
}

TEST_P(Rewrite, ALogIsKeptUntilTheNextButOneBegins) {
    write_file(list(), "a\n");
    auto store = opened(list());
    EXPECT_EQ(*store->previous_log(), "");
    for (const std::string before : {"", "first\n"}) {
        Request request = append(version(*store), before);
        ASSERT_TRUE(before.empty() || ask(*store, request).changed);
        const std::string log = read_file(list() + ".runtask/edits");
        request = rewriting(version(*store), {});
        request.records = "kept\n";
        request.new_log = true;
        ASSERT_TRUE(ask(*store, request).changed);
        EXPECT_EQ(*store->previous_log(), log);
    }
    EXPECT_TRUE(ask(*store, append(version(*store), "more\n")).changed);
}

TEST_P(Rewrite, PutsAListAside) {
    write_file(list(), "a\n");
    auto store = opened(list());
    Request request = rewriting(version(*store), {{0, 2, "b\n"}});
    request.put_aside = "edited-01-02-03-04-05";
    ASSERT_TRUE(ask(*store, request).changed);
    EXPECT_EQ(read_file(list()), "b\n");
    EXPECT_EQ(read_file(list() + ".edited-01-02-03-04-05"), "a\n");
}

WQ_WAYS_OF_UTILITIES(Rewrite);

}  // namespace
}  // namespace wq::shared_list::store
