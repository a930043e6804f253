// What programs read: JSON, tables, and the trace.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "support/folder.h"
#include "unit/views/report/sample_run.h"
#include "views/report/csv_files.h"
#include "views/report/json_report.h"
#include "views/report/pieces_file.h"
#include "views/report/trace_file.h"

namespace wq::views::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The rows of a table, as RFC 4180 reads it.
std::vector<std::vector<std::string>> rows_of(const std::string& text) {
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row{""};
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"' && quoted && text[at + 1] == '"') {
            row.back() += text[++at];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            row.emplace_back();
        } else if (c == '\n' && !quoted) {
            rows.push_back(row);
            row = {""};
        } else {
            row.back() += c;
        }
    }
    EXPECT_FALSE(quoted);
    return rows;
}

// By the name of its column.
class Table {
  public:
    explicit Table(const std::string& path) : rows_(rows_of(wq::test::read_file(path))) {
        for (const auto& row : rows_) EXPECT_EQ(row.size(), rows_.front().size()) << path;
    }
    std::size_t size() const { return rows_.size() - 1; }
    const std::string& at(std::size_t row, const std::string& column) const {
        const auto& names = rows_.front();
        const auto found = std::find(names.begin(), names.end(), column);
        EXPECT_NE(found, names.end()) << column;
        return rows_[row + 1][static_cast<std::size_t>(found - names.begin())];
    }

  private:
    std::vector<std::vector<std::string>> rows_;
};

TEST(Csv, HasAllTables) {
    const wq::test::Folder folder;
    ReportedRun run = test::sample();
    run.run.categories[0].name = "a,\"b\"";
    run.run.asks = {{{2, 4096, -1, -1}, "ssd"}};
    run.run.waiting = {{test::begin, 7, 0, engine::model::WaitReason::busy},
                       {test::begin + 1, 0, model::no_place, engine::model::WaitReason::program}};
    const auto paths = write_csv_files(folder / "new/tables", run);
    ASSERT_TRUE(paths) << paths.error().message;
    ASSERT_THAT(*paths, SizeIs(5));

    const Table attempts(folder / "new/tables/attempts.csv");
    ASSERT_EQ(attempts.size(), run.run.attempts.size());
    EXPECT_EQ(attempts.at(0, "category"), "a,\"b\"");
    EXPECT_EQ(attempts.at(0, "wall_us"), "10000000");
    EXPECT_EQ(attempts.at(0, "cores"), "1");
    EXPECT_EQ(attempts.at(0, "memory_mib"), "8192");
    EXPECT_EQ(attempts.at(0, "ready_us"), "") << "not recorded";
    EXPECT_EQ(attempts.at(0, "disk_mib"), "");
    EXPECT_EQ(attempts.at(0, "exit_code"), "0");
    EXPECT_EQ(attempts.at(7, "ending"), "signalled");
    EXPECT_EQ(attempts.at(7, "exit_code"), "");
    EXPECT_EQ(attempts.at(7, "signal"), "11");
    EXPECT_EQ(attempts.at(8, "worker"), "");
    EXPECT_EQ(attempts.at(8, "wall_us"), "");

    const Table workers(folder / "new/tables/workers.csv");
    ASSERT_EQ(workers.size(), 2U);
    EXPECT_EQ(workers.at(1, "host"), "node2");
    EXPECT_EQ(workers.at(1, "rank"), "");
    EXPECT_EQ(workers.at(1, "allocated_cores"), "");

    const Table categories(folder / "new/tables/categories.csv");
    ASSERT_EQ(categories.size(), 2U);
    EXPECT_EQ(categories.at(0, "wall_seconds_max"), "30.000");
    EXPECT_EQ(categories.at(0, "memory_used_mib_median"), "");

    const Table waiting(folder / "new/tables/waiting.csv");
    ASSERT_EQ(waiting.size(), 2U);
    EXPECT_EQ(waiting.at(0, "ask_cores"), "2");
    EXPECT_EQ(waiting.at(0, "ask_disk_mib"), "");
    EXPECT_EQ(waiting.at(0, "ask_features"), "ssd");
    EXPECT_EQ(waiting.at(1, "ask"), "");
}

// In thousand-millionths of core-seconds.
std::int64_t parts(std::string text) {
    text.erase(text.find('.'), 1);
    return std::stoll(text);
}

TEST(Csv, AccountAddsUpToTheLastDigit) {
    const wq::test::Folder folder;
    ReportedRun run = test::sample();
    run.account = {};
    for (std::size_t n = 0; n < run.account.lines.size(); ++n)
        run.account.offered += run.account.lines[n] = static_cast<model::CoreTime>(n) * 1'234'567'891;
    ASSERT_TRUE(write_csv_files(folder.path(), run));
    const Table account(folder / "account.csv");
    ASSERT_EQ(account.size(), model::account_line_count + 4);
    EXPECT_EQ(account.at(2, "core_seconds"), "1.234567891");
    std::int64_t sum = 0;
    for (std::size_t n = 1; n <= model::account_line_count; ++n) sum += parts(account.at(n, "core_seconds"));
    EXPECT_EQ(account.at(0, "line"), "offered");
    EXPECT_EQ(sum, parts(account.at(0, "core_seconds")));
}

TEST(Csv, EmptyRunHasHeadings) {
    const wq::test::Folder folder;
    ASSERT_TRUE(write_csv_files(folder.path(), test::reported({})));
    EXPECT_EQ(Table(folder / "attempts.csv").size(), 0U);
    EXPECT_EQ(Table(folder / "waiting.csv").size(), 0U);
}

TEST(Csv, DirectoryThatCannotBeMadeIsAnError) {
    const wq::test::Folder folder;
    wq::test::write_file(folder / "file", "");
    const auto paths = write_csv_files(folder / "file/tables", test::sample());
    ASSERT_FALSE(paths);
    EXPECT_THAT(paths.error().message, HasSubstr("file/tables"));
}

TEST(Pieces, FileIsWholeOrMissing) {
    const wq::test::Folder folder;
    int piece = 0;
    ASSERT_TRUE(write_in_pieces(folder / "out", [&](std::string& text) {
        text.append(1 << 19, static_cast<char>('a' + piece));
        return ++piece < 5;
    }));
    const std::string text = wq::test::read_file(folder / "out");
    ASSERT_EQ(text.size(), std::size_t{5} << 19);
    EXPECT_EQ(text.front(), 'a');
    EXPECT_EQ(text.back(), 'e');
    EXPECT_FALSE(std::filesystem::exists(folder / "out.part"));
    EXPECT_FALSE(write_in_pieces(folder / "no/out", [](std::string&) { return false; }));
}

TEST(JsonReport, IsReadBack) {
    const Json json = Json::parse(json_report(test::sample()).dump(2, true));
    ASSERT_TRUE(json.is_object());
    EXPECT_EQ(json.find("report")->integer(), 1);
    EXPECT_EQ(json.find("title")->text(), "tasks.sh");
    EXPECT_EQ(json.find("makespan_us")->integer(), 80'000'000);
    EXPECT_EQ(json.find("tasks")->find("failed")->integer(), 2);
    EXPECT_TRUE(json.find("tasks")->find("left")->is_null());
    const Json& account = *json.find("account");
    double sum = 0;
    for (const Json& line : account.find("lines")->parts()) sum += line.find("core_seconds")->number();
    EXPECT_DOUBLE_EQ(sum, account.find("offered_core_seconds")->number());
    EXPECT_DOUBLE_EQ(account.find("lost_core_seconds_by_ending")->find("exited")->number(), 30);
    const Json& align = json.find("categories")->parts()[1];
    EXPECT_DOUBLE_EQ(align.find("wall_seconds")->find("upper_quartile")->number(), 20);
    EXPECT_TRUE(align.find("disk_mib")->find("asked")->is_null());
    EXPECT_EQ(json.find("failures")->parts()[0].find("examples")->parts()[0].find("stderr_end")->text(),
              "reading x\nx: no space left\n");
    EXPECT_EQ(json.find("advice")->size(), 3U);
}

TEST(JsonReport, HostileNamesStayWithinIt) {
    model::RunView run = test::sample_view();
    run.title = run.categories[0].name = run.workers[0].host = test::hostile;
    const std::string text = json_report(test::reported(run)).dump(2, true);
    for (const char c : text) ASSERT_TRUE((c >= ' ' && c < 0x7f) || c == '\n');
    EXPECT_EQ(Json::parse(text).find("title")->text(), test::hostile);
}

TEST(JsonReport, IsOfNothing) {
    const Json json = Json::parse(json_report(test::reported({})).dump());
    EXPECT_TRUE(json.find("begin_us")->is_null());
    EXPECT_TRUE(json.find("manager_host")->is_null());
    EXPECT_EQ(json.find("categories")->size(), 0U);
}

// The complete events of a trace.
std::vector<Json> bars_of(const std::string& path, std::vector<std::string>* names = nullptr) {
    const Json json = Json::parse(wq::test::read_file(path));
    std::vector<Json> bars;
    EXPECT_TRUE(json.is_object()) << wq::test::read_file(path);
    if (!json.is_object()) return bars;
    for (const Json& event : json.find("traceEvents")->parts()) {
        if (event.find("ph")->text() == "X")
            bars.push_back(event);
        else if (names != nullptr)
            names->push_back(event.find("args")->find("name")->text());
    }
    return bars;
}

TEST(Trace, HasABarForEachAttempt) {
    const wq::test::Folder folder;
    model::RunView run = test::sample_view();
    run.categories[1].name = run.workers[1].host = test::hostile;
    ASSERT_TRUE(write_trace(folder / "trace.json", run));
    std::vector<std::string> names;
    const auto bars = bars_of(folder / "trace.json", &names);
    ASSERT_THAT(bars, SizeIs(8)) << "one never ran";
    EXPECT_THAT(names, ElementsAre("node1 node1:9000", test::hostile + " node2:9001"));
    const Json& second_try = bars[3];
    EXPECT_EQ(second_try.find("name")->text(), "task 6");
    EXPECT_EQ(second_try.find("cat")->text(), test::hostile);
    EXPECT_EQ(second_try.find("ts")->integer(), 30'000'000);
    EXPECT_EQ(second_try.find("dur")->integer(), 30'000'000);
    EXPECT_EQ(second_try.find("args")->find("attempt")->integer(), 2);
    EXPECT_EQ(second_try.find("args")->find("ending")->text(), "exit 0");
    EXPECT_EQ(bars[4].find("args")->find("ending")->text(), "signal 11 (SIGSEGV)");
}

TEST(Trace, LanesDoNotOverlap) {
    const wq::test::Folder folder;
    model::RunView run;
    run.begin = test::begin;
    run.end = test::begin + 1000 * test::second;
    run.workers = {test::worker(0, "a", 4), test::worker(1, "b", 4)};
    std::uint32_t random = 1;
    const auto next = [&](std::uint32_t below) {
        random = random * 1664525 + 1013904223;
        return (random >> 8) % below;
    };
    for (std::uint64_t task = 1; task <= 3000; ++task)
        run.attempts.push_back(test::attempt(task, 0, next(2), next(900), next(50)));
    run.attempts.push_back(test::attempt(3001, 0, model::no_place, 1, 1));
    ASSERT_TRUE(write_trace(folder / "trace.json", run));
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> ends;
    std::int64_t most_lanes = 0;
    const auto bars = bars_of(folder / "trace.json");
    ASSERT_THAT(bars, SizeIs(3001));
    for (const Json& bar : bars) {
        std::int64_t& end = ends[{bar.find("pid")->integer(), bar.find("tid")->integer()}];
        EXPECT_GE(bar.find("ts")->integer(), end);
        EXPECT_GE(bar.find("dur")->integer(), 0);
        end = bar.find("ts")->integer() + bar.find("dur")->integer();
        most_lanes = std::max(most_lanes, bar.find("tid")->integer());
    }
    // As many as run at once, no more.
    std::int64_t most_at_once = 0;
    for (std::uint32_t worker = 0; worker < 2; ++worker) {
        std::map<WallMicros, std::int64_t> changes;
        for (const model::RunAttempt& each : run.attempts)
            if (each.worker == worker && each.wall_us > 0) ++changes[each.started], --changes[each.received];
        std::int64_t now = 0;
        for (const auto& change : changes) most_at_once = std::max(most_at_once, now += change.second);
    }
    EXPECT_GE(most_lanes, most_at_once);
    EXPECT_LE(most_lanes, most_at_once + 1) << "an attempt of no time may need one more";
}

TEST(Trace, TakesARunWithoutAttempts) {
    const wq::test::Folder folder;
    ASSERT_TRUE(write_trace(folder / "trace.json", {}));
    EXPECT_THAT(bars_of(folder / "trace.json"), SizeIs(0));
}

TEST(Trace, RunningAttemptEndsWithTheRun) {
    const wq::test::Folder folder;
    model::RunView run = test::sample_view();
    model::RunAttempt running = test::attempt(9, 0, 1, 90, 0);
    running.received = running.ended = 0;
    run.attempts = {running};
    ASSERT_TRUE(write_trace(folder / "trace.json", run));
    const auto bars = bars_of(folder / "trace.json");
    ASSERT_THAT(bars, SizeIs(1));
    EXPECT_EQ(bars[0].find("dur")->integer(), 10'000'000);
    EXPECT_EQ(bars[0].find("args")->find("ending")->text(), "running");
}

}  // namespace
}  // namespace wq::views::report
