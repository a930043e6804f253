// What a resumed run makes of the records of earlier ones, whose list was another.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "recorder_testing.h"
#include "records/hdf5/h5_reader.h"
#include "records/journal/journal.h"

namespace wq::records::recorder {
namespace {

using journal::testing::TempDir;
using test::read_file;
using test::write_file;
using ::testing::ElementsAre;
using testing::options_in;

struct List : ListedTasks {
    std::map<std::uint64_t, std::uint64_t> tasks;  // by key
    std::optional<TaskId> find(journal::TaskKey key) const override {
        const auto found = tasks.find(key.value);
        return found == tasks.end() ? std::nullopt : std::optional(TaskId(found->second));
    }
    std::uint64_t line(TaskId task) const override { return 100 + task.value(); }
    std::string command(TaskId task) const override { return "command " + std::to_string(task.value()); }
};

Recorded ended(std::uint64_t task, std::uint64_t key, std::uint32_t category, int exit_code,
               Attempt attempt = 1) {
    Recorded recorded;
    recorded.record.task = TaskId(task);
    recorded.record.key.value = key;
    recorded.record.line = task + 1;
    recorded.record.attempt = attempt;
    recorded.record.category = CategoryId(category);
    recorded.record.outcome.exit_code = exit_code;
    recorded.command = "was " + std::to_string(task);
    return recorded;
}

struct Row {
    std::int64_t task, line, attempt;
    std::string category;
    bool final;
    bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) {
    *out << "{task " << row.task << ", line " << row.line << ", attempt " << row.attempt << ", "
         << row.category << (row.final ? ", final}" : "}");
}

std::vector<Row> rows(const std::string& directory) {
    const auto reader = hdf5::StatsReader::open(directory + "/stats.h5").or_throw();
    std::map<std::uint32_t, std::string> names;
    const auto categories = reader.categories();
    for (const hdf5::CategoryRow& row : *categories)
        EXPECT_TRUE(names.emplace(row.category, row.name.view()).second);
    std::vector<Row> found;
    const auto tasks = reader.tasks();
    for (const hdf5::TaskRow& row : *tasks)
        found.push_back({row.task, row.line, row.attempt, names[row.category], row.final == hdf5::Flag::yes});
    return found;
}

// Number and command of each line.
std::vector<std::string> joblog(const std::string& directory) {
    std::vector<std::string> found;
    std::istringstream lines(read_file(directory + "/joblog.tsv"));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line))
        found.push_back(line.substr(0, line.find('\t')) + " " + line.substr(line.rfind('\t') + 1));
    return found;
}

void run(const RecorderOptions& options, const ListedTasks* list,
         const std::vector<journal::CategoryRecord>& categories, const std::vector<Recorded>& ends) {
    auto recorder = open_recorder(options, list).or_throw();
    for (const journal::CategoryRecord& known : categories) recorder->category(known.category, known.name);
    for (const Recorded& one : ends) recorder->task(one);
    EXPECT_TRUE(recorder->close().ok());
    EXPECT_THAT(recorder->notices(), ElementsAre());
}

RecorderOptions options_of(const TempDir& dir) {
    RecorderOptions options = options_in(dir.path());
    options.categories = {"default"};
    return options;
}

TEST(RecorderResume, RecordsOfAnEditedListHaveItsNumbersLinesAndCategories) {
    const TempDir dir;
    run(options_of(dir), nullptr, {{CategoryId(1), "one"}, {CategoryId(2), "two"}},
        {ended(0, 70, 1, 0), ended(1, 71, 2, 0), ended(2, 72, 0, 0)});
    // A task of another category now stands above them, and the last is gone.
    List list;
    list.tasks = {{60, 0}, {70, 1}, {71, 2}};
    run(options_of(dir), &list, {{CategoryId(1), "zero"}, {CategoryId(2), "one"}, {CategoryId(3), "two"}},
        {ended(0, 60, 1, 0)});
    EXPECT_THAT(rows(dir.path()), ElementsAre(Row{2, 101, 1, "one", true}, Row{3, 102, 1, "two", true},
                                              Row{0, 0, 1, "default", true}, Row{1, 1, 1, "zero", true}));
    EXPECT_THAT(joblog(dir.path()), ElementsAre("2 was 0", "3 was 1", "0 was 2", "1 was 0"));
    // A third run knows it all by the journal alone, and commands by the list.
    std::filesystem::remove(dir.file("joblog.tsv"));
    run(options_of(dir), &list, {}, {});
    EXPECT_THAT(rows(dir.path()), ElementsAre(Row{2, 101, 1, "one", true}, Row{3, 102, 1, "two", true},
                                              Row{0, 0, 1, "default", true}, Row{1, 100, 1, "zero", true}));
    EXPECT_THAT(joblog(dir.path()), ElementsAre("2 command 1", "3 command 2", "0 ", "1 command 0"));
}

TEST(RecorderResume, WhereTheListIsNotKnownRecordsKeepTheirNumbers) {
    const TempDir dir;
    run(options_of(dir), nullptr, {}, {ended(4, 70, 0, 0)});
    run(options_of(dir), nullptr, {}, {});
    EXPECT_THAT(rows(dir.path()), ElementsAre(Row{5, 5, 1, "default", true}));
    EXPECT_THAT(joblog(dir.path()), ElementsAre("5 was 4"));
}

TEST(RecorderResume, OnlyTheLastEndOfATaskIsFinal) {
    const TempDir dir;
    List list;
    list.tasks = {{70, 0}, {71, 1}};
    run(options_of(dir), nullptr, {}, {ended(0, 70, 0, 1), ended(1, 71, 0, 1), ended(2, 72, 0, 1)});
    RecorderOptions again = options_of(dir);
    again.failed_run_again = true;
    run(again, &list, {}, {ended(0, 70, 0, 0, 2), ended(1, 71, 0, 3, 2)});
    const auto expected = ElementsAre(Row{1, 100, 1, "default", false}, Row{2, 101, 1, "default", false},
                                      Row{0, 0, 1, "default", true}, Row{1, 1, 2, "default", true},
                                      Row{2, 2, 2, "default", true});
    EXPECT_THAT(rows(dir.path()), expected) << "what is not in the list any more has no attempt to come";
    List same = list;
    run(options_of(dir), &same, {}, {});
    EXPECT_THAT(rows(dir.path()),
                ElementsAre(Row{1, 100, 1, "default", false}, Row{2, 101, 1, "default", false},
                            Row{0, 0, 1, "default", true}, Row{1, 100, 2, "default", true},
                            Row{2, 101, 2, "default", true}));
}

struct Asking {
    std::uint32_t ask;  // 0: none
    double cores;
    bool operator==(const Asking&) const = default;
};
void PrintTo(const Asking& ask, std::ostream* out) {
    *out << "{" << ask.ask << ", " << ask.cores << " cores}";
}

// What each row asks for.
template <class Rows>
std::vector<Asking> asking(const std::string& directory, const Rows& rows) {
    const auto asks = hdf5::StatsReader::open(directory + "/stats.h5").or_throw().asks().or_throw();
    std::vector<Asking> found;
    for (const auto& row : rows) {
        const auto known = std::find_if(asks.begin(), asks.end(),
                                        [&](const hdf5::AskRow& ask) { return ask.ask == row.ask; });
        found.push_back({row.ask, known == asks.end() ? 0 : known->cores});
    }
    return found;
}

void ask_and_end(const TempDir& dir, std::uint64_t task, std::int64_t cores, WallMicros at) {
    auto recorder = open_recorder(options_of(dir), nullptr).or_throw();
    journal::AskRecord ask{journal::AskId(1), {}, {"fast"}};
    ask.needs.cores = cores;
    recorder->ask(ask);
    Recorded one = ended(task, 70 + task, 0, 0);
    one.record.ask = journal::AskId(1);
    one.record.ready_us = at;
    recorder->task(one);
    recorder->waiting({at, journal::AskId(1), engine::model::WaitReason::busy, 5});
    recorder->waiting({at, journal::no_ask, engine::model::WaitReason::tasks, 7});
    recorder->worker_changed({at, WorkerId(2), journal::WorkerChange::excluded, "bad"});
    EXPECT_TRUE(recorder->close().ok());
    EXPECT_THAT(recorder->notices(), ElementsAre());
}

// Each session numbers its asks from 1.
TEST(RecorderResume, WhatIsAskedKeepsItsMeaningInEachSession) {
    const TempDir dir;
    ask_and_end(dir, 0, 2, 100);
    ask_and_end(dir, 1, 4, 200);
    ask_and_end(dir, 2, 2, 300);
    run(options_of(dir), nullptr, {}, {ended(3, 73, 0, 0)});
    const auto reader = hdf5::StatsReader::open(dir.file("stats.h5")).or_throw();
    const auto asks = reader.asks().or_throw();
    ASSERT_EQ(asks.size(), 2u);
    EXPECT_EQ(asks[1].features.view(), "fast");
    const auto tasks = reader.tasks().or_throw();
    EXPECT_THAT(asking(dir.path(), tasks),
                ElementsAre(Asking{1, 2}, Asking{2, 4}, Asking{1, 2}, Asking{0, 0}));
    EXPECT_EQ(tasks[1].ready, 200);
    const auto waiting = reader.waiting().or_throw();
    EXPECT_THAT(asking(dir.path(), waiting), ElementsAre(Asking{1, 2}, Asking{0, 0}, Asking{2, 4},
                                                         Asking{0, 0}, Asking{1, 2}, Asking{0, 0}));
    EXPECT_EQ(waiting[2].reason.view(), "busy");
    EXPECT_EQ(waiting[2].tasks, 5u);
    EXPECT_EQ(waiting[2].time, 200);
    EXPECT_EQ(waiting[3].reason.view(), "tasks");
    const auto changes = reader.worker_changes().or_throw();
    ASSERT_EQ(changes.size(), 3u);
    EXPECT_EQ(changes[2].time, 300);
    EXPECT_EQ(changes[2].worker, 2u);
    EXPECT_EQ(changes[2].change.view(), "excluded");
    EXPECT_EQ(changes[2].why.view(), "bad");
}

TEST(RecorderResume, FurtherAsksOfAllSessionsAreOne) {
    const TempDir dir;
    for (std::int64_t session = 0; session < 2; ++session) {
        auto recorder = open_recorder(options_of(dir), nullptr).or_throw();
        for (std::uint32_t id = 1; id <= 600; ++id) {
            journal::AskRecord ask{journal::AskId(id), {}, {}};
            ask.needs.cores = 1000 * session + id;
            recorder->ask(ask);
        }
        recorder->ask({journal::further_ask, {}, {}});
        recorder->waiting({session, journal::AskId(600), engine::model::WaitReason::busy, 1});
        recorder->waiting({session, journal::further_ask, engine::model::WaitReason::busy, 1});
        EXPECT_TRUE(recorder->close().ok());
    }
    const auto reader = hdf5::StatsReader::open(dir.file("stats.h5")).or_throw();
    EXPECT_EQ(reader.asks().or_throw().size(), 1000u);
    const auto waiting = reader.waiting().or_throw();
    EXPECT_THAT(asking(dir.path(), waiting),
                ElementsAre(Asking{600, 600}, Asking{1000, -1}, Asking{1000, -1}, Asking{1000, -1}));
}

// Its columns are not recorded; what is added to it is.
TEST(RecorderResume, AJournalOfTheFirstVersionGoesOnWithRecordsOfThisOne) {
    const TempDir dir;
    std::string old("\0\0\0\0\0\0\0\0\x02", 9);
    old += journal::encode_record(ended(0, 70, 0, 0).record).substr(9);
    old.resize(old.size() - 4);  // the four fields of the second version: each 0 is a byte
    const auto length = static_cast<std::uint32_t>(old.size() - journal::frame_bytes);
    journal::store_u32(old.data(), length);
    journal::store_u32(old.data() + 4,
                       journal::frame_checksum(length, std::string_view(old).substr(journal::frame_bytes)));
    write_file(dir.file("journal"), journal::encode_header({1, "run-1", "tasks.sh", 0, 0}) + old);
    ask_and_end(dir, 1, 4, 200);
    run(options_of(dir), nullptr, {}, {});
    const auto reader = hdf5::StatsReader::open(dir.file("stats.h5")).or_throw();
    const auto tasks = reader.tasks().or_throw();
    EXPECT_THAT(asking(dir.path(), tasks), ElementsAre(Asking{0, 0}, Asking{1, 4}));
    EXPECT_EQ(tasks[0].key, 70u);
    EXPECT_EQ(tasks[0].ready, 0);
    EXPECT_EQ(tasks[1].ready, 200);
}

TEST(RecorderResume, AJournalWithoutNamesOfCategoriesStaysReadable) {
    const TempDir dir;
    write_file(dir.file("journal"), journal::encode_header({1, "run-1", "tasks.sh", 0, 0}) +
                                        journal::encode_record(ended(0, 70, 0, 0).record) +
                                        journal::encode_record(ended(1, 71, 1, 0).record));
    run(options_of(dir), nullptr, {{CategoryId(1), "zero"}}, {ended(2, 60, 1, 0)});
    EXPECT_THAT(rows(dir.path()), ElementsAre(Row{1, 1, 1, "default", true}, Row{2, 2, 1, "unknown 1", true},
                                              Row{3, 3, 1, "zero", true}));
}

}  // namespace
}  // namespace wq::records::recorder
