#include "shared_run/dispatcher.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "support/memory_store.h"

namespace {

using namespace wq;
using namespace wq::shared_run;
using marked_list::TryEnd;
using wq::testing::MemoryMaster;
using wq::testing::MemoryStore;

class Dispatching : public ::testing::Test {
  protected:
    // Several lists, by name.
    Dispatcher& make(bool once = true) {
        DispatcherOptions options;
        options.place = {"", "tasks.sh"};
        options.once = once;
        options.poll = Duration{0};
        options.say = [this](const std::string& line) { said_ += line + "\n"; };
        options.store = [this](const list_store::ListPlace& place) {
            auto store = std::make_unique<MemoryStore>(lists[place.file]);
            store->unreachable = place.file == unreachable_;
            store_ = store.get();
            return store;
        };
        dispatcher_ = std::make_unique<Dispatcher>(std::move(options));
        return *dispatcher_;
    }

    // The orders of a turn: "0: echo a", "0! export ..."; "- 3": ticket 3 is forgotten.
    std::vector<std::string> turn(const std::vector<Event>& events = {}) {
        last_ = dispatcher_->turn(events);
        std::vector<std::string> texts;
        for (const Order& order : last_.orders) {
            if (const auto* environment = std::get_if<RunEnvironment>(&order)) {
                texts.push_back(std::to_string(environment->seat.value()) + "! " + environment->text);
            } else if (const auto* line = std::get_if<RunLine>(&order)) {
                const bool probe = line->command.starts_with("printf '%s\\0'");
                texts.push_back(std::to_string(line->seat.value()) + ": " +
                                (probe ? "probe" : line->command));
                tickets_[line->seat.value()] = line->ticket;
            } else {
                texts.push_back("- " + std::to_string(std::get<Forget>(order).ticket));
            }
        }
        return texts;
    }
    static Event joined(std::uint32_t seat, std::uint32_t jobs = 1) {
        return SeatJoined{WorkerId(seat), "host " + std::to_string(seat), jobs};
    }
    // Of the line that the seat got last.
    Event ended(std::uint32_t seat, TryEnd end = TryEnd::ok, std::string output = {}) {
        return LineEnded{tickets_[seat], end, end == TryEnd::error ? 1 : 0, std::move(output)};
    }
    Event probed(std::uint32_t seat, const std::string& newtask = {}, const std::string& newid = {},
                 const std::string& jumpto = {}) {
        const std::string nul(1, '\0');
        return ended(seat, TryEnd::ok, newtask + nul + newid + nul + jumpto + nul);
    }
    std::string text(const std::string& list = "tasks.sh") {
        const std::regex time("\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d");
        return std::regex_replace(lists[list].file, time, "T");
    }

    using Texts = std::vector<std::string>;
    std::map<std::string, MemoryMaster> lists;
    std::unique_ptr<Dispatcher> dispatcher_;
    Turn last_;
    std::map<std::uint32_t, std::uint64_t> tickets_;
    std::string said_;
    std::string unreachable_;
    MemoryStore* store_ = nullptr;
};

TEST_F(Dispatching, GivesEachSeatALineForEachOfItsCores) {
    lists["tasks.sh"].file = "a\nb\nc\nd\n";
    make();
    EXPECT_EQ(turn({joined(0), joined(1, 2)}),
              (Texts{"0! export WORKERID=0 TASKFILE=tasks.sh", "0: a",
                     "1! export WORKERID=1 TASKFILE=tasks.sh", "1: b", "1: c"}));
    EXPECT_EQ(turn({ended(1)}), Texts{"1: d"});
    EXPECT_FALSE(last_.over);
    EXPECT_EQ(text(),
              "#LASTWORKER 1\n#a # worker 0 # (T ...\n#b # worker 1 # (T ...\n#c # worker 1 # (T ... T) #ok\n"
              "#d # worker 1 # (T ...\n# worker 0: host 0 (T)\n# worker 1: host 1 (T)\n");
}

TEST_F(Dispatching, RunsEnvironmentLinesWithAProbeBeforeAnythingElse) {
    lists["tasks.sh"].file = "cd x #!\na\ncd y #!\n";
    make();
    EXPECT_EQ(turn({joined(0, 4)}), (Texts{"0! export WORKERID=0 TASKFILE=tasks.sh",
                                           "0! unset newtask newid jumpto\ncd x #!", "0: probe"}));
    EXPECT_EQ(turn(), Texts{});
    EXPECT_EQ(turn({probed(0)}), (Texts{"0: a", "0! unset newtask newid jumpto\ncd y #!", "0: probe"}));
    EXPECT_FALSE(last_.over);
}

TEST_F(Dispatching, FollowsJumps) {
    lists["tasks.sh"].file = "newtask=two.sh #!\n";
    lists["two.sh"].file = "#LASTWORKER 6\nb\njumpto=\"three.sh\" #!\n";
    lists["three.sh"].file = "c\n";
    make();
    turn({joined(0)});
    EXPECT_EQ(turn({probed(0, "two.sh")}), (Texts{"0! export WORKERID=7 TASKFILE=two.sh", "0: b"}));
    EXPECT_EQ(turn({ended(0)}).back(), "0: probe");
    EXPECT_TRUE(lists["tasks.sh"].signs.empty());
    EXPECT_EQ(turn({probed(0, "", "", "three.sh")}),
              (Texts{"0! export WORKERID=7 TASKFILE=three.sh", "0: c"}));
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_TRUE(last_.over);
    EXPECT_EQ(text("three.sh"), "#LASTWORKER 7\n#c # worker 7 # (T ... T) #ok\n# worker 7: host 0 (T)\n");
}

TEST_F(Dispatching, JumpsWhenNothingRunsAnyMore) {
    lists["tasks.sh"].file = "a\nnewtask=two.sh #!\nb\n";
    lists["two.sh"].file = "c\n";
    make();
    turn({joined(0, 2)});
    const std::uint64_t of_a = tickets_[0] - 1;
    EXPECT_EQ(turn({probed(0, "two.sh")}), Texts{});
    EXPECT_EQ(turn({LineEnded{of_a, TryEnd::ok, 0, {}}}).back(), "0: c");
    EXPECT_EQ(text().find("#lost"), std::string::npos) << text();
    EXPECT_NE(text().find("#a # worker 0 # (T ... T) #ok"), std::string::npos) << text();
}

TEST_F(Dispatching, AnIdThatIsTakenOrNoneIsRefused) {
    lists["tasks.sh"].file = "newid=4 #!\nnewid=x #!\na\n";
    lists["tasks.sh"].signs[4] = {4, Duration{0}, std::chrono::seconds(60)};
    make();
    turn({joined(0), joined(1)});
    EXPECT_EQ(turn({probed(1, "", "x")}).back(), "1: probe");
    EXPECT_NE(said_.find("worker 1 stays in tasks.sh: newid: "), std::string::npos) << said_;
    turn({probed(0, "", "4")});
    turn();
    EXPECT_NE(said_.find("host 0 takes no more lines: worker 4 of list lives already"), std::string::npos)
        << said_;
    EXPECT_EQ(turn({probed(1)}), Texts{"1: a"});
}

TEST_F(Dispatching, AListThatCannotBeReachedKeepsNoOtherOneWaiting) {
    lists["tasks.sh"].file = "newtask=two.sh #!#@0\na\nb\n";
    make();
    turn({joined(0), joined(1)});
    unreachable_ = "two.sh";
    EXPECT_EQ(turn({probed(0, "two.sh")}), Texts{});
    EXPECT_EQ(turn({ended(1)}), Texts{"1: b"});
    EXPECT_FALSE(last_.problem);
}

TEST_F(Dispatching, ItsOwnWorkersAreNotLostAfterALongAbsence) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0), joined(1)});
    for (auto& [worker, sign] : lists["tasks.sh"].signs) sign.age = std::chrono::hours(1);
    EXPECT_EQ(turn(), Texts{});
    EXPECT_EQ(text().find("#lost"), std::string::npos) << text();
    EXPECT_EQ(last_.lapses.size(), 2U);
}

TEST_F(Dispatching, AWorkerTooSmallForALineGetsNone) {
    lists["tasks.sh"].file = "a\n";
    make();
    EXPECT_EQ(turn({joined(0, 0)}), Texts{});
    EXPECT_EQ(text(), "a\n");
}

TEST_F(Dispatching, GivesAFailedLineToEachSeatOnce) {
    lists["tasks.sh"].file = "a\n";
    make();
    EXPECT_EQ(turn({joined(0), joined(1)}).back(), "1! export WORKERID=1 TASKFILE=tasks.sh");
    EXPECT_EQ(turn({ended(0, TryEnd::error)}), Texts{"1: a"});
    EXPECT_EQ(turn({ended(1, TryEnd::error)}), Texts{});
    EXPECT_TRUE(last_.over);
    EXPECT_TRUE(dispatcher_->failed());
}

TEST_F(Dispatching, TakesBackTheLinesOfASeatThatLeft) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0), joined(1)});
    EXPECT_EQ(turn({SeatLeft{WorkerId(0)}}), Texts{"- 1"});
    EXPECT_EQ(turn({ended(1)}), Texts{"1: a"});
    EXPECT_EQ(turn({ended(1)}), Texts{});
    EXPECT_TRUE(last_.over);
    EXPECT_EQ(lists["tasks.sh"].signs.size(), 1U);
    EXPECT_NE(text().find("#a # worker 0 # (T ... T) #lost # worker 1 # (T ... T) #ok"), std::string::npos)
        << text();
    EXPECT_FALSE(dispatcher_->failed());
}

TEST_F(Dispatching, TakesOverFromWorkersThatGaveNoSign) {
    lists["tasks.sh"].file = "#LASTWORKER 0\n#a # worker 0 # (01-01 00:00:00 ...\n";
    lists["tasks.sh"].signs[0] = {0, std::chrono::seconds(90), std::chrono::seconds(60)};
    make();
    EXPECT_EQ(turn({joined(0)}).back(), "0! export WORKERID=1 TASKFILE=tasks.sh");
    EXPECT_EQ(turn(), Texts{"0: a"});
    EXPECT_NE(said_.find("worker 0 is lost"), std::string::npos) << said_;
}

TEST_F(Dispatching, LosesNoOrderWhenTheMasterCannotBeReached) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0)});
    store_->fault = MemoryStore::Fault::lost_after;
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_NE(said_.find("the connection was lost; trying again"), std::string::npos) << said_;
    EXPECT_EQ(turn(), Texts{"0: b"});
    EXPECT_NE(said_.find("tasks.sh is reached again"), std::string::npos) << said_;
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_TRUE(last_.over);
    EXPECT_EQ(text(),
              "#LASTWORKER 0\n#a # worker 0 # (T ... T) #ok\n#b # worker 0 # (T ... T) #ok\n# worker 0: host "
              "0 (T)\n");
}

TEST_F(Dispatching, WaitsForMoreLinesUnlessItRunsOnce) {
    lists["tasks.sh"].file = "";
    make(false);
    turn({joined(0)});
    EXPECT_FALSE(last_.over);
    lists["tasks.sh"].edit(lists["tasks.sh"].file + "a\n");
    EXPECT_EQ(turn(), Texts{"0: a"});
}

TEST_F(Dispatching, GivesRunningLinesBackAtItsEnd) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0), joined(1)});
    dispatcher_->note({ended(1)});
    ASSERT_TRUE(dispatcher_->close());
    EXPECT_NE(text().find("\na # worker 0 # (T ... T) #lost\n#b # worker 1 # (T ... T) #ok\n"),
              std::string::npos)
        << text();
    EXPECT_TRUE(lists["tasks.sh"].signs.empty());
}

}  // namespace
