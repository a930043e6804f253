#include "manager/run/source.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "support/fake_recorder.h"
#include "support/folder.h"

namespace wq::manager::run {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SourceTest : public ::testing::Test {
  protected:
    SourceSpec list(const std::string& text, const std::string& name = "tasks.sh") {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        SourceSpec spec;
        spec.path = (folder_ / name).string();
        return spec;
    }
    static SourceSpec array(const std::string& indexes) {
        SourceSpec spec;
        spec.kind = SourceSpec::Kind::array;
        spec.indexes = indexes;
        spec.command = {"work", "{}"};
        return spec;
    }

    // Reads it to the end into tasks() and manager().
    Status read(const SourceSpec& spec, EarlierRun earlier = {}, TaskDefaults defaults = {},
                const std::string& run_directory = {}) {
        source_.reset();
        manager_.reset();
        tasks_ = std::make_unique<manager::TaskTable>();
        manager_ = std::make_unique<manager::Manager>(manager::ManagerOptions{}, *tasks_, recorder_,
                                                      engine::model::Now{});
        SourceOptions options{defaults, std::move(earlier), run_directory};
        if (foreseen_)
            if (auto checked = check_source(spec)) options.categories = checked->categories;
        source_ = open_source(spec, std::move(options), *tasks_).or_throw();
        while (!source_->ended())
            if (Status read = source_->read(*manager_, {}); !read) return read;
        return success();
    }
    const engine::model::Ledger& ledger() const { return manager_->reactor().ledger(); }
    const engine::model::Shape& shape(std::uint64_t task) const {
        return ledger().shape(ledger().shape_of(TaskId(task)));
    }
    std::string states() const {
        std::string text;
        for (std::uint64_t id = 0; id < ledger().size(); ++id)
            text += engine::model::name_of(ledger().state(TaskId(id)))[0];
        return text;
    }
    EarlierRun ended(const std::vector<std::pair<std::uint64_t, EarlierRun::End>>& tasks) const {
        EarlierRun run;
        for (const auto& [id, end] : tasks) run.ends[tasks_->key(TaskId(id)).value] = end;
        return run;
    }

    bool foreseen_ = false;  // the list is looked through before it is read
    test::Folder made_;
    std::filesystem::path folder_ = made_.path();
    testing::FakeRecorder recorder_;
    std::unique_ptr<manager::TaskTable> tasks_;
    std::unique_ptr<manager::Manager> manager_;
    std::unique_ptr<Source> source_;
};

TEST_F(SourceTest, ShapesComeFromTheListAndTheDefaults) {
    TaskDefaults defaults;
    defaults.needs.memory_mb = 100;
    defaults.retries = 2;
    defaults.timeout = std::chrono::minutes(5);
    ASSERT_TRUE(
        read(list("a\n#WQ cores=3 memory=1G retries=0 category=x\nb #@4#@2\n#WQ memory= category=\nc\n"), {},
             defaults));
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{1, 100, -1, -1}));
    EXPECT_EQ(shape(0).retries, 2u);
    EXPECT_EQ(shape(0).timeout, std::chrono::minutes(5));
    EXPECT_EQ(shape(1).needs, (engine::model::Needs{3, 1024, -1, -1}));
    EXPECT_EQ(shape(1).retries, 0u);
    EXPECT_EQ(shape(1).workers, (std::vector{WorkerId(4), WorkerId(2)}));
    EXPECT_EQ(shape(2).needs, (engine::model::Needs{3, 100, -1, -1}));
    EXPECT_EQ(shape(2).category, shape(0).category);
    EXPECT_NE(shape(1).category, shape(0).category);
    EXPECT_EQ(tasks_->settings(TaskId(2)).cores, 3);
    EXPECT_EQ(tasks_->settings(TaskId(2)).memory_mb, 100);
    EXPECT_EQ(tasks_->tags(TaskId(1)), " #@4 #@2");
}

TEST_F(SourceTest, CategoriesSayWhatALineLeavesOpen) {
    TaskDefaults defaults;
    defaults.needs.memory_mb = 100;
    ASSERT_TRUE(read(list("#WQ category=early\na\n"
                          "#WQ-CATEGORY x cores=2 memory=1G concurrent=3\n"
                          "#WQ category=x\nb\n"
                          "#WQ cores=1 disk=5\nc\n"
                          "#WQ category= cores=\nd\n"
                          "#WQ-CATEGORY early cores=4 min memory=7 mode=min-waste\n"
                          "#WQ category=early disk=\ne\n"
                          "#WQ-CATEGORY gpu gpus=1\n#WQ category=gpu\nf\n"),
                     {}, defaults));
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{1, 100, -1, -1}));  // it was above, and had its defaults
    EXPECT_EQ(shape(1).needs, (engine::model::Needs{-1, -1, -1, -1}));
    EXPECT_EQ(shape(2).needs, (engine::model::Needs{1, -1, 5, -1}));
    EXPECT_EQ(shape(3).needs, (engine::model::Needs{1, 100, 5, -1}));
    EXPECT_EQ(shape(4).needs, (engine::model::Needs{-1, -1, -1, -1}));
    EXPECT_EQ(shape(5).needs, (engine::model::Needs{-1, 100, -1, -1}));
    const auto known = [&](std::uint64_t task) {
        return *manager_->reactor().category(shape(task).category);
    };
    EXPECT_EQ(known(1).max(), (engine::model::Sizes{2000, 1024, -1, -1}));
    EXPECT_EQ(known(1).max_concurrent(), 3);
    EXPECT_EQ(known(4).max(), (engine::model::Sizes{4000, 100, -1, -1}));
    EXPECT_EQ(known(4).min().memory_mb, 7);
    EXPECT_EQ(known(4).mode(), engine::model::AllocationMode::min_waste);
    EXPECT_EQ(known(5).max(), (engine::model::Sizes{-1, -1, -1, 1000}));
    EXPECT_EQ(tasks_->settings(TaskId(1)).memory_mb, std::nullopt);
    EXPECT_EQ(tasks_->category_lines().size(), 3u);
}

TEST_F(SourceTest, CategoriesThatAreForeseenHoldForTheTasksAboveTheirLines) {
    foreseen_ = true;
    TaskDefaults defaults;
    defaults.needs.memory_mb = 100;
    const std::string above = "#WQ category=x\na\n#WQ cores=3\nb\n#WQ cores= category=\nc\n";
    ASSERT_TRUE(read(list(above + "#WQ-CATEGORY y cores=9\n"), {}, defaults));
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{1, 100, -1, -1}));
    EXPECT_EQ(manager_->reactor().category(shape(0).category)->max(), engine::model::Sizes{});
    ASSERT_TRUE(read(list(above + "#WQ-CATEGORY x cores=2 concurrent=1\n"), {}, defaults));
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{-1, 100, -1, -1}));
    EXPECT_EQ(shape(1).needs, (engine::model::Needs{3, 100, -1, -1}));
    EXPECT_EQ(shape(2).needs, (engine::model::Needs{1, 100, -1, -1}));
    EXPECT_EQ(manager_->reactor().category(shape(0).category)->max(),
              (engine::model::Sizes{2000, -1, -1, -1}));
    // Until its line has come, a task has what the run gives.
    ASSERT_TRUE(read(list(above + "#:\nd\n#WQ-CATEGORY default mode=max first cores=2\n"), {}, defaults));
    EXPECT_EQ(shape(2).needs, (engine::model::Needs{-1, -1, -1, -1}));
    EXPECT_EQ(manager_->reactor().category(shape(2).category)->max(),
              (engine::model::Sizes{-1, 100, -1, -1}));
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{1, 100, -1, -1}));
}

TEST_F(SourceTest, ACategoryThatSaysItsCoresNoMoreGivesTheDefault) {
    ASSERT_TRUE(read(list("#WQ-CATEGORY x cores=2\n#WQ category=x\na\n#WQ-CATEGORY x memory=1G\nb\n")));
    EXPECT_EQ(manager_->reactor().category(shape(0).category)->max(),
              (engine::model::Sizes{1000, 1024, -1, -1}));
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{-1, -1, -1, -1}));
    // In other modes all that is not said is open.
    ASSERT_TRUE(read(list("#WQ-CATEGORY x mode=max\n#WQ category=x\na\n")));
    EXPECT_EQ(manager_->reactor().category(shape(0).category)->max(), engine::model::Sizes{});
    EXPECT_EQ(shape(0).needs, (engine::model::Needs{-1, -1, -1, -1}));
}

TEST_F(SourceTest, ACategorysLeastIsMoreThanWhatTheRunGives) {
    TaskDefaults defaults;
    defaults.needs.memory_mb = 100;
    const auto asked = [&](std::uint64_t task) {
        const engine::model::Shape& what = shape(task);
        return manager_->reactor().category(what.category)->first_try({}, {});
    };
    for (const bool foreseen : {false, true}) {
        foreseen_ = foreseen;
        ASSERT_TRUE(read(list("#WQ-CATEGORY x min cores=4 memory=200M\n#WQ category=x\na\n"
                              "#WQ cores=1\nb\n"
                              "#WQ-CATEGORY low min cores=0.5 memory=50M disk=7\n#WQ cores= category=low\nc\n"
                              "#WQ-CATEGORY gpu min gpus=2\n#WQ category=gpu\nd\n"),
                         {}, defaults));
        EXPECT_EQ(shape(0).needs, (engine::model::Needs{-1, -1, -1, -1}));
        EXPECT_EQ(asked(0).sizes, (engine::model::Sizes{4000, 200, -1, -1}));
        EXPECT_EQ(shape(1).needs.cores, 1);
        EXPECT_EQ(asked(2).sizes, (engine::model::Sizes{1000, 100, -1, -1}));
        EXPECT_EQ(asked(2).at_least.disk_mb, 7);
        EXPECT_EQ(shape(3).needs, (engine::model::Needs{-1, 100, -1, -1}));
        EXPECT_EQ(asked(3).sizes, (engine::model::Sizes{-1, -1, -1, 2000}));
    }
}

TEST_F(SourceTest, LinesOfCategoriesThatDoNothingAreTold) {
    std::vector<std::string> said;
    const auto read_and_listen = [&](const std::string& text, bool measured) {
        said.clear();
        const SourceSpec spec = list(text);
        source_.reset();
        tasks_ = std::make_unique<manager::TaskTable>();
        manager_ = std::make_unique<manager::Manager>(manager::ManagerOptions{}, *tasks_, recorder_,
                                                      engine::model::Now{});
        manager_->say = [&](const std::string& line) { said.push_back(line); };
        source_ = open_source(spec, {{}, {}, {}, measured}, *tasks_).or_throw();
        while (!source_->ended()) source_->read(*manager_, {}).or_throw();
    };
    const std::string text =
        "a\n#WQ-CATEGORY x mode=max\n#WQ-CATEGORY x cores=1\n#WQ-CATEGORY default cores=1\n"
        "#WQ-CATEGORY y mode=max\n#WQ category=y\nb\n";
    read_and_listen(text, false);
    ASSERT_EQ(said.size(), 3u);
    EXPECT_THAT(said[0], HasSubstr("tasks.sh:2: no measurements: the mode of 'x' needs them"));
    EXPECT_THAT(said[1], HasSubstr("tasks.sh:4: no task has the category 'default'"));
    EXPECT_THAT(said[2], HasSubstr("tasks.sh:2: no task has the category 'x'"));
    read_and_listen(text, true);
    EXPECT_EQ(said.size(), 2u);
    read_and_listen("#WQ-CATEGORY default cores=1\na\n", false);
    EXPECT_EQ(said.size(), 0u);
    read_and_listen("#WQ-CATEGORY default first memory=1G\na\n", false);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0],
                HasSubstr("tasks.sh:1: 'first' has no effect on the category 'default' in mode fixed"));
    read_and_listen("#WQ-CATEGORY default first memory=1G\n#WQ-CATEGORY default mode=max\na\n", true);
    EXPECT_EQ(said.size(), 0u);
}

TEST_F(SourceTest, NeighboursOfOneShapeAreOneRange) {
    std::string text;
    for (int n = 0; n < 100'000; ++n) text += "work " + std::to_string(n) + "\n";
    ASSERT_TRUE(read(list(text)));
    EXPECT_EQ(ledger().size(), 100'000u);
    EXPECT_EQ(ledger().shapes(), 1u);
    EXPECT_EQ(tasks_->text(TaskId(77'777)).command, "work 77777");
}

TEST_F(SourceTest, ResumedLinesAreMatchedByTheirContent) {
    ASSERT_TRUE(read(list("a\nb\nc\nb\n")));
    const EarlierRun earlier =
        ended({{0, EarlierRun::End::done}, {1, EarlierRun::End::done}, {2, EarlierRun::End::failed}});
    ASSERT_TRUE(read(list("b\nnew\nc\n# moved\na\nb\nb\n"), earlier));
    EXPECT_EQ(states(), "drfdrr");  // the first b is done, the others are not
}

TEST_F(SourceTest, AFailureOfAnEarlierRunBlocksItsGroup) {
    ASSERT_TRUE(read(list("a #:g\n")));
    const EarlierRun earlier = ended({{0, EarlierRun::End::failed}});
    ASSERT_TRUE(read(list("a #:g\nb #:g\nc\n"), earlier));
    EXPECT_EQ(states(), "fsr");
}

TEST_F(SourceTest, ResumedArraysAreMatchedByTheirIndexes) {
    EarlierRun earlier;
    for (const std::uint64_t index : {5U, 9U, 100U, 4U, 50'000'000U})
        earlier.ends[index] = EarlierRun::End::done;
    earlier.ends[13] = EarlierRun::End::failed;
    ASSERT_TRUE(read(array("1-100000000:4,100"), earlier));
    EXPECT_EQ(ledger().size(), 25'000'001u);
    std::vector<std::uint64_t> done;
    ledger().done().for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) done.push_back(id);
    });
    EXPECT_EQ(done,
              (std::vector<std::uint64_t>{1, 2, 25'000'000}));  // 5, 9 and 100; 4 and 50000000 are not of it
    EXPECT_TRUE(ledger().failed().contains(3));
}

TEST_F(SourceTest, EachTakesLinesAsTheyAre) {
    SourceSpec spec = list("a b\r\n\n#c\nlast");
    spec.kind = SourceSpec::Kind::each;
    spec.command = {"work", "{}"};
    EXPECT_EQ(check_source(spec)->tasks, 3u);
    ASSERT_TRUE(read(spec));
    EXPECT_EQ(tasks_->command(TaskId(0)), "work 'a b'");
    EXPECT_EQ(tasks_->command(TaskId(1)), "work '#c'");
    EXPECT_EQ(tasks_->text(TaskId(2)).line, 4u);
}

TEST_F(SourceTest, BadInputNamesFileAndLine) {
    const std::pair<std::string, std::string> bad[] = {{"a\nb #@x\n", ":2: "},
                                                       {"#WQ cpu=3\n", ":1: "},
                                                       {std::string("a\nb\0c\n", 6), ":2: "},
                                                       {"a\n" + std::string(2 << 20, 'x'), ":2: "}};
    for (const auto& [text, place] : bad) {
        const SourceSpec spec = list(text);
        const auto checked = check_source(spec);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, ExitCode::bad_input);
        EXPECT_THAT(checked.error().message, StartsWith(spec.path + place));
        const Status fed = read(spec);
        ASSERT_FALSE(fed);
        EXPECT_EQ(fed.error().message, checked.error().message);
        EXPECT_TRUE(source_->ended());
    }
}

TEST_F(SourceTest, WhatCannotBeReadIsSaid) {
    SourceSpec nowhere;
    nowhere.path = (folder_ / "nowhere").string();
    EXPECT_THAT(check_source(nowhere).error().message, HasSubstr("No such file"));
    nowhere.path = folder_.string();
    EXPECT_THAT(check_source(nowhere).error().message, HasSubstr("is a directory"));
}

TEST_F(SourceTest, TheListIsCopied) {
    std::filesystem::create_directory(folder_ / "run");
    const std::string text = "a #:g\n#WQ cores=1\nb\n";
    ASSERT_TRUE(read(list(text), {}, {}, (folder_ / "run").string()));
    EXPECT_EQ(test::read_file(folder_ / "run" / "list"), text);
}

TEST_F(SourceTest, ARunIsToldByItsSourceAndNotByItsContent) {
    const SourceSpec one = list("a\n");
    const std::uint64_t before = one.fingerprint();
    EXPECT_EQ(list("b\n").fingerprint(), before);
    EXPECT_NE(list("a\n", "other.sh").fingerprint(), before);
    SourceSpec moved = one;
    moved.path = "/elsewhere/" + std::filesystem::path(one.path).filename().string();
    EXPECT_EQ(moved.fingerprint(), before);
    EXPECT_EQ(array("1-5").fingerprint(), array("1-50").fingerprint());
    SourceSpec other = array("1-5");
    other.command = {"other", "{}"};
    EXPECT_NE(other.fingerprint(), array("1-5").fingerprint());
    SourceSpec each = one;
    each.kind = SourceSpec::Kind::each;
    each.command = {"work", "{}"};
    EXPECT_NE(each.fingerprint(), before);
}

}  // namespace
}  // namespace wq::manager::run
