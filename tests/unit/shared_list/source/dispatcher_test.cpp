#include "shared_list/source/dispatcher.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "support/memory_store.h"

namespace {

using namespace wq;
using namespace wq::shared_list::source;
using shared_list::text::TryEnd;
using wq::testing::Faults;
using wq::testing::FaultyStore;
using wq::testing::MemoryMaster;
using wq::testing::MemoryStore;

class Dispatching : public ::testing::Test {
  protected:
    // Several lists, by name.
    Dispatcher& make(bool once = true) {
        DispatcherOptions options;
        options.place = {"", "tasks.sh"};
        options.once = once;
        options.poll = poll;
        options.lease = lease;
        options.waits_for_workers = waits_for_workers;
        options.expected_seats = expected_seats;
        options.join_limit = join_limit;
        options.beaten = [this](WorkerId, Instant) { ++beats; };
        options.say = [this](const std::string& line) { said_ += line + "\n"; };
        options.store = [this](const shared_list::store::ListPlace& place) {
            auto store = std::make_unique<FaultyStore>(lists[place.file], faults[place.file]);
            store_ = store.get();
            return store;
        };
        dispatcher_ = std::make_unique<Dispatcher>(std::move(options));
        return *dispatcher_;
    }

    // The orders of a turn: "0: echo a", "0! export ..."; "- 3": ticket 3 is forgotten.
    std::vector<std::string> turn(const std::vector<Event>& events = {}) {
        constexpr bool gives = true;
        last_ = dispatcher_->run_turn(events, gives);
        std::vector<std::string> texts;
        for (const DispatchOrder& order : last_.orders) {
            if (const auto* environment = std::get_if<RunEnvironment>(&order)) {
                texts.push_back(std::to_string(environment->seat.value()) + "! " + environment->text);
            } else if (const auto* line = std::get_if<RunLine>(&order)) {
                const bool probe = line->command.starts_with("command test -z ");
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
        const bool stays = newtask.empty() && newid.empty() && jumpto.empty();
        return ended(seat, TryEnd::ok, stays ? "" : newtask + "\n" + newid + "\n" + jumpto + "\n");
    }
    std::string text(const std::string& list = "tasks.sh") {
        const std::regex time("\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d");
        return std::regex_replace(lists[list].file, time, "T");
    }

    using Texts = std::vector<std::string>;
    std::map<std::string, MemoryMaster> lists;
    std::map<std::string, Faults> faults;
    Duration poll{0};
    Duration lease = std::chrono::minutes(10);
    bool waits_for_workers = false;
    std::size_t expected_seats = 0;
    Duration join_limit = std::chrono::hours(1);
    int beats = 0;
    std::unique_ptr<Dispatcher> dispatcher_;
    Turn last_;
    std::map<std::uint32_t, std::uint64_t> tickets_;
    std::string said_;
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
                                           "0! unset newtask newid jumpto", "0! cd x", "0: probe"}));
    EXPECT_EQ(turn(), Texts{});
    EXPECT_EQ(turn({probed(0)}), (Texts{"0: a", "0! unset newtask newid jumpto", "0! cd y", "0: probe"}));
    EXPECT_FALSE(last_.over);
}

TEST_F(Dispatching, FollowsJumps) {
    lists["tasks.sh"].file = "newtask=two.sh #!\n";
    lists["two.sh"].file = "#LASTWORKER 6\nb\njumpto=\"three.sh\" #!\n";
    lists["three.sh"].file = "c\n";
    make();
    turn({joined(0)});
    EXPECT_EQ(turn({probed(0, "two.sh")}), (Texts{"0! export WORKERID=7 TASKFILE=two.sh", "0: b"}));
    EXPECT_TRUE(lists["tasks.sh"].signs.empty());
    EXPECT_EQ(turn({ended(0)}).back(), "0: probe");
    EXPECT_EQ(turn({probed(0, "", "", "three.sh")}),
              (Texts{"0! export WORKERID=7 TASKFILE=three.sh", "0: c"}));
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_TRUE(last_.over);
    EXPECT_EQ(text("three.sh"), "#LASTWORKER 7\n#c # worker 7 # (T ... T) #ok\n# worker 7: host 0 (T)\n");
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

TEST_F(Dispatching, DoesNotEndBeforeAllSeatsHaveJoinedWhileALineMayBeForThem) {
    lists["tasks.sh"].file = "a\nb #@1\n";
    expected_seats = 2;
    make();
    turn({joined(0)});
    EXPECT_EQ(turn({ended(0, TryEnd::error)}), Texts{});
    EXPECT_FALSE(last_.over);
    EXPECT_EQ(turn({SeatLeft{WorkerId(0)}}), Texts{});
    EXPECT_FALSE(last_.over);
    EXPECT_EQ(turn({joined(1)}), (Texts{"1! export WORKERID=1 TASKFILE=tasks.sh", "1: a"}));
    EXPECT_EQ(turn({ended(1)}), Texts{"1: b #@1"});
    EXPECT_EQ(turn({ended(1)}), Texts{});
    EXPECT_TRUE(last_.over);
}

TEST_F(Dispatching, EndsWithoutSeatsThatAreNotNeededOrLate) {
    lists["tasks.sh"].file = "a\n";
    expected_seats = 2;
    make();
    turn({joined(0)});
    turn({ended(0)});
    EXPECT_TRUE(last_.over);

    lists["tasks.sh"].file = "#LASTWORKER 0\nb #@7\n";
    join_limit = Duration{0};
    make();
    turn({joined(0)});
    EXPECT_TRUE(last_.over);
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
    lists["tasks.sh"].signs[0] = {0, std::chrono::seconds(90), std::chrono::milliseconds(1)};
    make();
    EXPECT_EQ(turn({joined(0)}).back(), "0! export WORKERID=1 TASKFILE=tasks.sh");
    Texts texts;
    for (const Instant end = instant_now() + std::chrono::seconds(60);
         texts.empty() && instant_now() < end;) {
        texts = turn();
        EXPECT_FALSE(last_.over);
    }
    EXPECT_EQ(texts, Texts{"0: a"});
    EXPECT_NE(said_.find("worker 0 of list is lost"), std::string::npos) << said_;
}

TEST_F(Dispatching, ABeginOfWhichNoAnswerCameRuns) {
    lists["tasks.sh"].file = "x\n";
    make();
    EXPECT_EQ(turn({joined(0, 2)}).back(), "0: x");
    MemoryStore store(lists["tasks.sh"]);
    shared_list::replica::SharedList other(store, [](const std::string&) {});
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(other.change("more", [](const shared_list::text::Document&) {
        return std::vector<shared_list::text::Edit>{shared_list::text::Append{"a #:g\nb #:g\n", {}}};
    }));
    store_->fault = MemoryStore::Fault::lost_after;
    EXPECT_EQ(turn(), Texts{});
    EXPECT_NE(lists["tasks.sh"].log.find("take"), std::string::npos);
    EXPECT_EQ(turn(), Texts{"0: a #:g"});
}

// After a step of the clock every sign looks old, until its worker gives the next one.
TEST_F(Dispatching, OneOldSignMakesNoWorkerLost) {
    lists["tasks.sh"].file = "#LASTWORKER 0\n#a # worker 0 # (01-01 00:00:00 ...\n";
    lists["tasks.sh"].signs[0] = {0, std::chrono::hours(1), std::chrono::milliseconds(1)};
    make();
    turn({joined(0)});
    EXPECT_EQ(turn(), Texts{});
    EXPECT_FALSE(last_.over);
    lists["tasks.sh"].signs[0].age = Duration{0};
    for (const Instant sure = instant_now() + std::chrono::milliseconds(2); instant_now() < sure;)
        EXPECT_EQ(turn(), Texts{});
    EXPECT_EQ(lists["tasks.sh"].signs.size(), 2U);
    EXPECT_EQ(said_, "");
}

TEST_F(Dispatching, AnEndOfWhichNoAnswerCameIsRecordedOnceWhenTheSeatLeaves) {
    lists["tasks.sh"].file = "a\na\na\n";
    make();
    turn({joined(0)});
    store_->fault = MemoryStore::Fault::lost_after;
    EXPECT_EQ(turn({ended(0)}), Texts{});
    turn({SeatLeft{WorkerId(0)}});
    EXPECT_EQ(text(),
              "#LASTWORKER 0\n#a # worker 0 # (T ... T) #ok\na # worker 0 # (T ... T) #lost\na\n# worker 0: "
              "host 0 (T)\n");
}

TEST_F(Dispatching, ALineThatOthersMayRunIsGivenUp) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0, 2)});
    MemoryStore store(lists["tasks.sh"]);
    shared_list::replica::SharedList other(store, [](const std::string&) {});
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(other.change("release 0", [&](const shared_list::text::Document& list) {
        auto lost = shared_list::text::release(list, 0, other.stamp());
        lost.resize(1);
        return lost;
    }));
    EXPECT_EQ(turn(), (Texts{"- 1", "0: a"}));
    EXPECT_NE(said_.find("line 2 is killed here"), std::string::npos) << said_;
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_FALSE(last_.over);
    EXPECT_EQ(text(),
              "#LASTWORKER 0\n#a # worker 0 # (T ... T) #lost # worker 0 # (T ... T) #ok\n#b # worker 0 # (T "
              "...\n# worker 0: host 0 (T)\n");
}

TEST_F(Dispatching, LosesNoOrderWhenTheMasterCannotBeReached) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0)});
    store_->fault = MemoryStore::Fault::lost_after;
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_FALSE(last_.problem);
    EXPECT_EQ(said_, "list: the connection was lost; trying again\n");
    EXPECT_EQ(turn(), Texts{"0: b"});
    EXPECT_EQ(said_, "list: the connection was lost; trying again\nlist is reached again\n");
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
    dispatcher_->handle_events({ended(1)});
    ASSERT_TRUE(dispatcher_->close());
    EXPECT_NE(text().find("\na # worker 0 # (T ... T) #lost\n#b # worker 1 # (T ... T) #ok\n"),
              std::string::npos)
        << text();
    EXPECT_TRUE(lists["tasks.sh"].signs.empty());
}

TEST_F(Dispatching, GoesToAnotherListWhenNoLineRunsAnyMore) {
    lists["tasks.sh"].file = "a\nnewtask=two.sh #!\nnever\n";
    lists["two.sh"].file = "b\n";
    make();
    turn({joined(0, 3)});
    EXPECT_EQ(turn({probed(0, "two.sh")}), Texts{});
    EXPECT_EQ(text().find("#lost"), std::string::npos) << text();
    EXPECT_EQ(turn({LineEnded{1, TryEnd::ok, 0, {}}}),
              (Texts{"0! export WORKERID=0 TASKFILE=two.sh", "0: b"}));
    EXPECT_NE(text().find("#a # worker 0 # (T ... T) #ok\n"), std::string::npos) << text();
}

TEST_F(Dispatching, TakesNothingFromItsOwnSeats) {
    lists["tasks.sh"].file = "a\n";
    make();
    turn({joined(0), joined(1)});
    lists["tasks.sh"].signs[0] = {0, std::chrono::hours(1), std::chrono::minutes(10)};
    EXPECT_EQ(turn(), Texts{});
    EXPECT_EQ(text().find("#lost"), std::string::npos) << text();
}

TEST_F(Dispatching, GivesSignsOfLifeAlsoWhenItPollsRarely) {
    lists["tasks.sh"].file = "a\n";
    poll = std::chrono::minutes(15);
    lease = std::chrono::seconds(40);
    make();
    turn({joined(0)});
    EXPECT_EQ(beats, 1);
    EXPECT_LE(last_.next, instant_now() + std::chrono::seconds(10));
}

TEST_F(Dispatching, BeginsNothingWhileTheRunStops) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0)});
    constexpr bool gives = false;
    const Turn last = dispatcher_->run_turn({ended(0)}, gives);
    EXPECT_TRUE(last.orders.empty());
    EXPECT_FALSE(last.over);
    EXPECT_NE(text().find("#a # worker 0 # (T ... T) #ok\nb\n"), std::string::npos) << text();
}

TEST_F(Dispatching, AListThatFailsConcernsItsOwnSeatsOnly) {
    lists["tasks.sh"].file = "newtask=dead.sh #!#@0\na #@1\nb #@1\n";
    faults["dead.sh"].open = Error{ExitCode::unreachable, "dead.sh: no route"};
    make();
    turn({joined(0), joined(1)});
    EXPECT_EQ(turn({LineEnded{1, TryEnd::ok, 0, "dead.sh\n\n\n"}}), Texts{});
    EXPECT_NE(said_.find("dead.sh: no route; trying again\n"), std::string::npos) << said_;
    EXPECT_EQ(turn({ended(1)}), Texts{"1: b #@1"});
    EXPECT_EQ(turn({ended(1)}), Texts{});
    EXPECT_FALSE(last_.problem);
    EXPECT_FALSE(last_.over);
}

TEST_F(Dispatching, ASeatLeavesThatGoesWhereNoListIs) {
    lists["tasks.sh"].file = "newtask=folder #!#@0\na #@1\n";
    faults["folder"].open = Error{ExitCode::usage, "folder: a directory"};
    make();
    turn({joined(0), joined(1)});
    EXPECT_EQ(turn({LineEnded{1, TryEnd::ok, 0, "folder\n\n\n"}}), Texts{});
    EXPECT_EQ(said_, "a worker (host 0) leaves: folder: a directory\n");
    EXPECT_FALSE(last_.problem);
    EXPECT_EQ(turn({ended(1)}), Texts{});
    EXPECT_TRUE(last_.over);
}

TEST_F(Dispatching, TheFirstListMustOpen) {
    faults["tasks.sh"].open = Error{ExitCode::usage, "tasks.sh: a directory"};
    make();
    turn({joined(0)});
    EXPECT_TRUE(last_.problem);
}

TEST_F(Dispatching, AListThatIsNoTextAnyMoreEndsTheRunWhenNothingOfItRuns) {
    lists["tasks.sh"].file = "a\n";
    make();
    turn({joined(0)});
    lists["tasks.sh"].edit(std::string("a\n\0\n", 4));
    turn();
    EXPECT_FALSE(last_.problem);
    EXPECT_EQ(said_, "list: line 2: a NUL byte; a task list is plain text; trying again\n");
    turn({ended(0)});
    ASSERT_TRUE(last_.problem);
    EXPECT_EQ(last_.problem->code, ExitCode::bad_input);
    EXPECT_EQ(last_.problem->message, "list: line 2: a NUL byte; a task list is plain text");
}

TEST_F(Dispatching, TriesAgainAfterAFullDisk) {
    lists["tasks.sh"].file = "a\nb\n";
    make();
    turn({joined(0)});
    faults["tasks.sh"].change = Error{ExitCode::internal, "disk full"};
    faults["tasks.sh"].changes = 1;
    EXPECT_EQ(turn({ended(0)}), Texts{});
    EXPECT_FALSE(last_.problem);
    EXPECT_EQ(turn(), Texts{"0: b"});
}

TEST_F(Dispatching, RemovesASignWhenTheLinesAreMarked) {
    lists["tasks.sh"].file = "a\n";
    make();
    turn({joined(0), joined(1)});
    faults["tasks.sh"].change = Error{ExitCode::unreachable, "cut off"};
    faults["tasks.sh"].changes = 1;
    turn({SeatLeft{WorkerId(0)}});
    EXPECT_TRUE(lists["tasks.sh"].signs.contains(0));
    turn();
    EXPECT_FALSE(lists["tasks.sh"].signs.contains(0));
}

TEST_F(Dispatching, TriesAgainToMarkWhatRanAtItsEnd) {
    lists["tasks.sh"].file = "a\n";
    make();
    turn({joined(0)});
    faults["tasks.sh"].change = Error{ExitCode::unreachable, "cut off"};
    faults["tasks.sh"].changes = 2;
    EXPECT_TRUE(dispatcher_->close());
    EXPECT_NE(text().find("\na # worker 0 # (T ... T) #lost\n"), std::string::npos) << text();
}

TEST_F(Dispatching, KeepsTheSignOfWhatCouldNotBeMarked) {
    lists["tasks.sh"].file = "a\n";
    make();
    turn({joined(0)});
    faults["tasks.sh"].change = Error{ExitCode::unreachable, "cut off"};
    faults["tasks.sh"].changes = 100;
    EXPECT_FALSE(dispatcher_->close());
    EXPECT_TRUE(lists["tasks.sh"].signs.contains(0));
}

TEST_F(Dispatching, ALineThatNobodyRanIsAFailure) {
    lists["tasks.sh"].file = "a #@9\n";
    make();
    EXPECT_EQ(turn({joined(0)}), Texts{"0! export WORKERID=0 TASKFILE=tasks.sh"});
    EXPECT_TRUE(last_.over);
    EXPECT_TRUE(dispatcher_->failed());
}

TEST_F(Dispatching, ListsThatLeadToEachOtherAreLookedAtOnceInAWhile) {
    lists["tasks.sh"].file = "newtask=two.sh #!\n";
    lists["two.sh"].file = "newtask=tasks.sh #!\n";
    poll = std::chrono::hours(1);
    make();
    turn({joined(0)});
    int moves = 0;
    for (const char* next = "two.sh"; moves < 10 && !turn({probed(0, next)}).empty(); ++moves)
        next = next == std::string("two.sh") ? "tasks.sh" : "two.sh";
    EXPECT_EQ(moves, 2);
    EXPECT_FALSE(last_.over);
}

// Its id stands nowhere in a list that was reset while it waits.
TEST_F(Dispatching, NoSeatHasTheIdOfALivingWorker) {
    lists["tasks.sh"].file = "a\n";
    lists["tasks.sh"].signs[4] = {4, Duration{0}, std::chrono::minutes(10)};
    lists["tasks.sh"].signs[9] = {9, std::chrono::hours(1), std::chrono::minutes(10)};
    make();
    EXPECT_EQ(turn({joined(0)}).front(), "0! export WORKERID=5 TASKFILE=tasks.sh");
}

TEST_F(Dispatching, AnIdMustBeANumberThatIsFree) {
    lists["tasks.sh"].file = "newid=x #!\nnewid=5 #!\na #@5\nnewid=7 #!\n";
    lists["tasks.sh"].signs[7] = {7, Duration{0}, std::chrono::minutes(10)};
    make();
    turn({joined(0)});
    EXPECT_EQ(turn({probed(0, "", "12x")}).back(), "0: probe");
    EXPECT_NE(said_.find("worker 8 stays in tasks.sh: newid: "), std::string::npos) << said_;
    EXPECT_EQ(turn({probed(0, "", "5")}), (Texts{"0! export WORKERID=5 TASKFILE=tasks.sh", "0: a #@5"}));
    EXPECT_EQ(turn({ended(0)}).back(), "0: probe");
    EXPECT_EQ(turn({probed(0, "", "7")}), Texts{});
    EXPECT_NE(said_.find("a worker (host 0) leaves: worker 7 of list gave a sign of life"), std::string::npos)
        << said_;
    EXPECT_TRUE(last_.over);
}

TEST_F(Dispatching, WhatALaterSeatFreesIsGivenAtOnce) {
    lists["tasks.sh"].file = "a #@1\n#:\nc #@0\n";
    make();
    turn({joined(0), joined(1)});
    EXPECT_EQ(turn({ended(1)}), Texts{"0: c #@0"});
}

TEST_F(Dispatching, IsOverWhenTheLastWorkerLeavesWithTheLastEnd) {
    lists["tasks.sh"].file = "a\n";
    waits_for_workers = true;
    make();
    turn({joined(0)});
    turn({ended(0), SeatLeft{WorkerId(0)}});
    EXPECT_TRUE(last_.over);
    EXPECT_NE(text().find("#a # worker 0 # (T ... T) #ok\n"), std::string::npos) << text();
}

}  // namespace
