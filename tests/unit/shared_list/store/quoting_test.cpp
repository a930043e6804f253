// Names and records that mean something to a shell, by each way to a list.
#include <filesystem>
#include <string>

#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;

class Quoting : public EveryWay {};

std::string read_log(const std::string& list) {
    return read_file(list + ".runtask/edits");
}

TEST_P(Quoting, KeepsEveryByteOfRecords) {
    auto store = opened(list());
    std::string all;
    for (int i = 1; i < 256; ++i)
        if (i != '\n') all.push_back(static_cast<char>(i));
    Version known = version(*store);
    std::string expected = "LOG " + known.log + "\n";
    for (const std::string& records :
         std::vector<std::string>{all + "\n", "\n\n \t \n\\\n$HOME `x` \"'*\n-n\n",
                                  std::string(is_long ? 1 << 20 : 1 << 16, 'z') + all + "\n"}) {
        const Answer answer = ask(*store, append(known, records));
        ASSERT_TRUE(answer.changed);
        known = answer.now;
        expected += records;
    }
    EXPECT_EQ(read_log(list()), expected);
    EXPECT_EQ(known.log_bytes, expected.size());
    EXPECT_EQ(ask(*store, Request{}).log, expected);
}

TEST_P(Quoting, NamesThatMeanSomethingToAShell) {
    for (const std::string& name :
         std::vector<std::string>{" two  blanks ", "it's", "\"$HOME\" `id` $(id) \\", "a\nb", "-n", "*", "~",
                                  "\xff\xfe", "[a]", "end\n"}) {
        const std::string path = folder_ / name;
        auto store = opened(path);
        Version known = version(*store);
        known = ask(*store, append(known, "record\n")).now;
        const Answer answer = ask(*store, rewriting(known, {{0, 0, "echo\n"}}));
        EXPECT_TRUE(answer.changed) << name;
        EXPECT_EQ(read_file(path), "echo\n") << name;
        EXPECT_EQ(read_log(path), "LOG " + known.log + "\nrecord\nFILE " + answer.now.file + "\n") << name;
    }
}

TEST_P(Quoting, TheHomeOfTheMaster) {
    if (GetParam() == Way::ssh) GTEST_SKIP() << "the home is the user's own";
    const Home home(folder_.path());
    auto store = opened("~/tasks.sh");
    EXPECT_TRUE(std::filesystem::exists(list()));
    const Status none = masters_.store(GetParam(), "~no-such-user/x", {})->open();
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ExitCode::bad_input);
    EXPECT_NE(none.error().message.find("user"), std::string::npos) << none.error().message;
    const Status bad = masters_.store(GetParam(), "~$(touch " + list() + ".x)/x", {})->open();
    EXPECT_FALSE(bad.ok());
    EXPECT_FALSE(std::filesystem::exists(list() + ".x"));
}

WQ_WAYS_OF_SHELLS(Quoting);

}  // namespace
}  // namespace wq::shared_list::store
