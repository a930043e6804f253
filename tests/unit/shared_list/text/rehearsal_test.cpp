#include "shared_list/text/rehearsal.h"

#include <gtest/gtest.h>

#include "random_list.h"
#include "support/some_of.h"

namespace {

using namespace wq::shared_list::text;

constexpr const char* when = "07-28 15:52:33";

TEST(Rehearsing, LinesThatRunSucceed) {
    const auto list = Document::read(
        "#a #:g # worker 0 # (07-28 15:52:33 ...\n#a #:g # worker 0 # (07-28 15:52:33 ...\nb #:g\n#:\nc\n");
    const Rehearsal rehearsal = rehearse(*list, 2);
    EXPECT_TRUE(rehearsal.never.empty()) << rehearsal_text(*list, rehearsal);
    ASSERT_EQ(rehearsal.runs.size(), 2U);
    EXPECT_EQ(rehearsal.runs[0].number, 3U);
    EXPECT_EQ(rehearsal.runs[1].number, 5U);
    EXPECT_EQ(rehearsal.runs[1].step, 2U);
}

TEST(Rehearsing, TellsOfEachLineWhyItNeverRuns) {
    const auto list = Document::read(
        "c #:g#@9\nb #:g\nx # worker 0 # (07-28 15:52:33 ... 07-28 15:52:36) #error1\n"
        "d #:h#@8\ne #:h\n");
    std::string text;
    for (const NeverRuns& never : rehearse(*list, 1).never)
        text += std::to_string(never.number) + ": " + never.why + "\n";
    EXPECT_EQ(text,
              "1: it needs worker 9, and the last one is 0\n"
              "2: it waits for lines that never end, first line 1\n"
              "3: it failed on all workers; more workers, or --reset, let it run again\n"
              "4: it needs worker 8, and the last one is 0\n"
              "5: it waits for lines that never end, first line 4\n");
}

// In seconds, where a look at each line in each step would take many minutes.
TEST(Rehearsing, OfALongListIsFast) {
    const auto lines = static_cast<std::uint64_t>(wq::test::some_of(100'000));
    std::string chain, others;
    for (std::uint64_t at = 0; at < lines; ++at) {
        chain += "true #:g\n";
        others += "true #@1\n";
    }
    EXPECT_EQ(rehearse(*Document::read(chain), 2).runs.back().step, lines);
    EXPECT_EQ(rehearse(*Document::read(others), 2).runs.back().step, lines);
}

TEST(ReadyLines, AreThoseThatAWorkerWouldChoose) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        wq::shared_list::text::testing::RandomList random(seed);
        std::string text;
        for (int at = 0; at < 40; ++at)
            text += (random.one_in(10) ? std::string("#:") : random.line()) + "\n";
        Document list = Document::read(text).value();
        for (int at = 0; at < 20; ++at) list.apply(random.edit(list));
        for (WorkerId worker = 0; worker < 4; ++worker)
            for (const Edit& lost : release(list, worker, when)) list.apply(lost);
        ReadyLines ready(list);
        std::vector<std::uint64_t> last(4), running;
        for (int step = 0; step < 200; ++step) {
            const auto worker = static_cast<WorkerId>(random.below(4));
            const auto choice = ready.choose(worker, last[worker]);
            ASSERT_EQ(choice, choose(list, worker, last[worker])) << seed << "\n" << list.bytes();
            if (choice) {
                last[worker] = choice->number;
                if (!choice->environment) {
                    const MarkedLine& line = list.line(choice->number);
                    ready.begin(choice->number);
                    running.push_back(choice->number);
                    list.apply(Take{choice->number, worker, when, std::string(searched_text(line.text))});
                }
            }
            if (running.empty() || !random.one_in(2)) continue;
            std::swap(running[random.below(running.size())], running.back());
            const MarkedLine& line = list.line(running.back());
            list.apply(
                End{running.back(), line.tries.back().worker, when, when, TryEnd::ok, 0, line.command});
            ready.end(running.back());
            running.pop_back();
        }
    }
}

}  // namespace
