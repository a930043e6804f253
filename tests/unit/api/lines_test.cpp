// Lines for the user.
#include "api/lines.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

namespace wq::api {
namespace {

using ::testing::ElementsAre;

TEST(Lines, ManyThreadsAreSaidOneAfterTheOther) {
    std::map<char, int> next;  // without a lock: they come on one thread
    {
        Lines lines([&](const std::string& line) { EXPECT_EQ(next[line[0]]++, std::stoi(line.substr(1))); });
        std::vector<std::thread> threads;
        for (const char name : {'a', 'b', 'c'})
            threads.emplace_back([&lines, name] {
                for (int i = 0; i < 500; ++i) lines.add_line(name + std::to_string(i));
            });
        for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(next['a'] + next['b'] + next['c'], 1500);
}

TEST(Lines, WhoIsToldOneMayPutAnother) {
    std::vector<std::string> said;
    Lines* own = nullptr;
    Lines lines([&](const std::string& line) {
        said.push_back(line);
        if (line.size() < 3) own->add_line(line + "a");
    });
    own = &lines;
    lines.add_line("a");
    lines.close();
    lines.close();
    EXPECT_THAT(said, ElementsAre("a", "aa", "aaa"));
    lines.add_line("too late");
}

TEST(Lines, ThoseThatComeTooFastAreCounted) {
    std::mutex slow;
    std::vector<std::string> said;
    slow.lock();
    Lines lines([&](const std::string& line) {
        const std::lock_guard lock(slow);
        said.push_back(line);
    });
    for (int i = 0; i < 20'000; ++i) lines.add_line("line");
    slow.unlock();
    lines.close();
    EXPECT_LE(said.size(), 10'002U);
    EXPECT_THAT(said.back(), ::testing::HasSubstr(" lines were dropped"));
}

}  // namespace
}  // namespace wq::api
