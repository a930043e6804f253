#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/json.h"
#include "net/catalog/record.h"
#include "net/catalog_server/history_log.h"
#include "net/catalog_server/history_replay.h"
#include "support/folder.h"

namespace {

using namespace wq;
using namespace wq::net::catalog_server;
using net::catalog::FlatRecord;
using net::catalog::Protocol;

constexpr std::int64_t noon = 1'795'867'200;  // 2026-11-28, the day 331 of its year
constexpr std::int64_t day_seconds = 86'400;

Instant instant(std::int64_t seconds) {
    return Instant(std::chrono::seconds(seconds - noon + 1'000'000));
}

struct History : testing::Test {
    std::string folder = testing::TempDir() + "history_" + std::to_string(::getpid()) + "_" +
                         testing::UnitTest::GetInstance()->current_test_info()->name();
    HistoryLimits limits{.checkpoint_every = std::chrono::seconds(0), .heard_every = std::chrono::seconds(0)};
    std::optional<HistoryFiles> files;
    std::optional<net::catalog::RecordTable> table;
    std::optional<HistoryLog> log;
    std::vector<std::string> said;
    std::int64_t now = noon;

    ~History() override {
        stop();
        std::filesystem::remove_all(folder);
    }
    void start(std::int64_t at) {
        stop();
        now = at;
        files.emplace(HistoryFiles::open(folder).value());
        table.emplace(net::catalog::TableLimits{});
        log.emplace(
            *files, limits, *table, net::catalog::TableLimits{},
            [this](const std::string& line) { said.push_back(line); }, instant(now),
            [this] { return now * micros_per_second; });
    }
    void stop() {
        log.reset();
        table.reset();
        files.reset();
    }
    // Writes what there is, and goes to a later time.
    void pass(std::int64_t at) {
        now = at;
        log->tick(instant(now));
        log->settle();
        table->expire(instant(now));
    }
    void add(const Json& record, Protocol way = Protocol::tcp) {
        ASSERT_TRUE(table->update(FlatRecord(net::catalog::text_of(record)), {"10.0.0.1", "", way},
                                  instant(now), now * micros_per_second));
    }
    nlohmann::json present() const {
        nlohmann::json all = nlohmann::json::object();
        for (auto at = table->behind(nullptr); at != table->end(); ++at)
            all[at->first.key] = nlohmann::json::parse(at->second.record.text());
        return all;
    }
    nlohmann::json past(std::int64_t at) const {
        nlohmann::json all = nlohmann::json::object();
        const HistoryState state = history_at(*files, at, 1 << 30);
        for (const auto& [key, record] : state.records()) all[key] = nlohmann::json::parse(record.text());
        return all;
    }
    std::string path(std::string_view name) const { return folder + "/2026/" + std::string(name); }
    std::string text(std::string_view name) const { return test::read_file(path(name)); }
    void append(const std::string& name, std::string_view more) const {
        std::ofstream(path(name), std::ios::app) << more;
    }
};

TEST_F(History, ARestartKeepsRecordsAndTheirAges) {
    start(noon);
    add({{"port", 1}, {"name", "a b\n%\""}, {"x", 1}, {"gone", 1}});
    add({{"port", 2}, {"lifetime", 100}}, Protocol::udp);
    add({{"port", 3}, {"lifetime", 5}});
    pass(noon + 1);
    add({{"port", 1}, {"name", "a b\n%\""}, {"x", 2}});
    pass(noon + 3);
    add({{"port", 2}, {"lifetime", 100}}, Protocol::udp);  // nothing is new of it but that it was heard
    const auto before = present();
    ASSERT_EQ(before.size(), 3U);
    start(noon + 50);
    const auto after = present();
    EXPECT_EQ(after.size(), 2U) << after;
    for (const auto& [key, record] : after.items()) {
        EXPECT_EQ(record, before[key]) << key;
        EXPECT_EQ(record["lastheardfrom"], key == "10.0.0.1:2:" ? noon + 3 : noon + 1);
    }
    EXPECT_EQ(table->find("10.0.0.1:2:")->protocol, Protocol::udp);
    EXPECT_EQ(table->find("10.0.0.1:1:a b\n%\"")->protocol, Protocol::tcp);
    table->expire(instant(noon + 102));
    EXPECT_EQ(table->size(), 2U);
    table->expire(instant(noon + 103));
    EXPECT_EQ(table->size(), 1U) << "no younger than it was";
    EXPECT_TRUE(said.empty());
}

TEST_F(History, EachMomentIsFoundAgain) {
    start(noon);
    pass(noon + 10);
    add({{"port", 1}, {"x", 1}, {"old", Json::array({1, 2})}});
    pass(noon + 20);
    add({{"port", 1}, {"x", 2}, {"new name", true}});
    pass(noon + 30);
    add({{"port", 1}, {"x", 2}});  // a name with a blank goes
    add({{"port", 2}, {"lifetime", 5}});
    pass(noon + 40);
    pass(noon + 41);
    stop();
    files.emplace(HistoryFiles::open(folder).value());
    EXPECT_EQ(past(noon + 9).size(), 0U);
    EXPECT_EQ(past(noon + 15)["10.0.0.1:1:"]["old"].dump(), "[1,2]");
    EXPECT_EQ(past(noon + 25)["10.0.0.1:1:"]["x"], 2);
    EXPECT_EQ(past(noon + 25)["10.0.0.1:1:"]["new name"], true);
    EXPECT_FALSE(past(noon + 25)["10.0.0.1:1:"].contains("old"));
    EXPECT_FALSE(past(noon + 35)["10.0.0.1:1:"].contains("new name"));
    EXPECT_EQ(past(noon + 35).size(), 2U);
    EXPECT_EQ(past(noon + 45).size(), 1U);
    EXPECT_EQ(past(noon - day_seconds).size(), 0U);

    HistoryStream stream(*files, noon + 15, noon + 35, net::catalog::JxExpression::parse("port==1").value(),
                         1 << 30);
    std::string lines;
    while (stream.next(lines)) {
    }
    EXPECT_TRUE(lines.starts_with("T " + std::to_string(noon + 15) + "\nC 10.0.0.1:1: {\"port\":1,\"x\":1,"))
        << lines;
    EXPECT_NE(lines.find("T " + std::to_string(noon + 20) + "\nM 10.0.0.1:1: {\"x\":2,\"new name\":true,"),
              std::string::npos)
        << lines;
    EXPECT_NE(lines.find("R 10.0.0.1:1: old\n"), std::string::npos) << lines;
    EXPECT_EQ(lines.find("10.0.0.1:2:"), std::string::npos) << lines;
}

TEST_F(History, ADayBeginsWithACheckpoint) {
    start(noon);
    for (int port = 0; port < 1000; ++port)
        add({{"port", port}, {"lifetime", 1000}, {"text", std::string(1000, 'x')}});
    pass(noon + day_seconds / 2 - 500);
    for (int port = 0; port < 1000; ++port)
        add({{"port", port}, {"lifetime", 1000}, {"text", std::string(1000, 'y')}});
    pass(noon + day_seconds / 2);
    add({{"port", 7}, {"x", 1}});
    pass(noon + day_seconds / 2 + 1);
    stop();
    const Json checkpoint = Json::parse(text("332.ckpt"));
    EXPECT_EQ(checkpoint.size(), 1000U);
    EXPECT_EQ(*checkpoint.find("10.0.0.1:8:")->find("port"), 8);
    EXPECT_TRUE(text("332.log").starts_with("T ")) << text("332.log");
    std::filesystem::remove(path("331.log"));
    start(noon + day_seconds / 2 + 2);
    EXPECT_EQ(table->size(), 1000U) << "of the new day alone";
}

TEST_F(History, DamageLosesNothingElse) {
    start(noon);
    add({{"port", 1}});
    add({{"port", 2}});
    stop();
    append("331.log",
           "garbage\nC\nC 10.0.0.1:9: [1]\nM 10.0.0.1:1: {\"x\":\nR nobody x\nT -1\nt "
           "99999999999999999999\n\nU 10.0.0.1:1: y 7\nt 1\n" +
               std::string(3 << 20, 'z') +
               "\nC 10.0.0.1:3: {\"port\":3,\"address\":\"10.0.0.1\",\"lastheardfrom\":" +
               std::to_string(noon) + "}\nM 10.0.0.1:2: {\"torn\":");
    start(noon + 5);
    EXPECT_EQ(table->size(), 3U);
    EXPECT_EQ(present()["10.0.0.1:1:"]["y"], 7);
    ASSERT_EQ(said.size(), 1U) << "once";
    EXPECT_NE(said.front().find("7 lines in"), std::string::npos) << said.front();
    add({{"port", 4}});
    start(noon + 6);
    EXPECT_EQ(table->size(), 4U) << "what is written behind a torn line counts";
}

TEST_F(History, StaysWithinItsSpace) {
    limits.bytes = 4 << 20;
    start(noon);
    for (int day = 0; day < 6; ++day) {
        for (int port = 0; port < 400; ++port)
            add({{"port", port},
                 {"lifetime", 1000},
                 {"text", std::string(2000, static_cast<char>('a' + day))}});
        pass(noon + day * day_seconds + 1);
        pass(noon + (day + 1) * day_seconds);
    }
    stop();
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
        if (file.is_regular_file()) bytes += file.file_size();
    EXPECT_LT(bytes, 5U << 20);
    EXPECT_FALSE(std::filesystem::exists(path("331.log")));
    EXPECT_TRUE(std::filesystem::exists(path("336.log")));
}

// A flood: its day begins anew again and again.
TEST_F(History, ADayHasAPartOfTheSpace) {
    limits.bytes = 4 << 20;
    start(noon);
    for (int round = 0; round < 20; ++round) {
        for (int port = 0; port < 100; ++port)
            add({{"port", port}, {"text", std::string(2000, static_cast<char>('a' + round))}});
        pass(noon + round + 1);
    }
    const auto before = present();
    stop();
    EXPECT_LT(text("331.log").size(), 2U << 20);
    start(noon + 30);
    EXPECT_EQ(present(), before);
}

TEST_F(History, NoLinkIsFollowedAndNoFolderShared) {
    std::filesystem::create_directories(folder + "/2026");
    const std::string outside = folder + "_outside";
    std::ofstream(outside) << "outside";
    std::filesystem::create_symlink(outside, path("331.log"));
    std::filesystem::create_symlink(outside, path("331.ckpt.new"));
    start(noon);
    add({{"port", 1}});
    EXPECT_FALSE(HistoryFiles::open(folder)) << "it is locked";
    pass(noon + 1);
    stop();
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said.front().find("changes are left out for now"), std::string::npos) << said.front();
    EXPECT_EQ(test::read_file(outside), "outside");
    std::filesystem::remove(outside);
    EXPECT_FALSE(HistoryFiles::open("/proc/none"));
}

// What CCTools' programs cannot read in a line is left out, or comes in several.
TEST_F(History, LinesAreShort) {
    start(noon);
    Json record{{"port", 1}, {"text", std::string(100'000, 'x')}};
    for (int part = 0; part < 50; ++part) record["part" + std::to_string(part)] = std::string(10'000, 'y');
    add(record);
    pass(noon + 1);
    stop();
    std::istringstream lines(text("331.log"));
    for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 65'000U);
    start(noon + 2);
    std::erase_if(record.members(), [](const Json::Member& one) { return one.key == "text"; });
    const auto found = present()["10.0.0.1:1:"];
    for (const auto& [key, value] : record.members()) EXPECT_EQ(found[key].dump(), value.dump());
    EXPECT_FALSE(found.contains("text"));
}

}  // namespace
