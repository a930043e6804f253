#include "programs/runtask/list_worker.h"

#include <gtest/gtest.h>

namespace wq::programs::runtask {
namespace {

shared_list::text::Waiting why(const std::string& list, shared_list::text::WorkerId worker) {
    return shared_list::text::why_waiting(shared_list::text::Document::read(list).or_throw(), worker);
}

std::string waits(const std::string& list, shared_list::text::WorkerId worker) {
    return waiting_text(why(list, worker), shared_list::text::Document::read(list).or_throw(), worker);
}

TEST(WaitingText, SaysWhatIsMissing) {
    EXPECT_EQ(waits("#a # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n", 0), "waiting for new lines");
    EXPECT_EQ(waits("#a #:g # worker 0 # (07-28 15:52:29 ...\nb #:g\nc #@7\n", 1),
              "waiting: line 2 waits for line 1 (group g), 1 line running, 1 line for other workers: #@7");
    EXPECT_EQ(waits("a # worker 1 # (07-28 15:52:29 ... 07-28 15:52:33) #error1\n", 1),
              "waiting: 1 line that failed here, for other workers");
}

TEST(WaitingText, SaysWhatIsLeftUndone) {
    EXPECT_EQ(undone_text(why("", 0), 0), "");
    EXPECT_EQ(undone_text(why("a # worker 1 # (07-28 15:52:29 ... 07-28 15:52:33) #error1\nb #:\n", 1), 1),
              "1 line failed, 1 line cannot run: line 2 waits for line 1");
}

std::uint64_t blocked_for_ever(const std::string& list, shared_list::text::WorkerId worker) {
    return blocked_for_good(why(list, worker), shared_list::text::Document::read(list).or_throw(), worker)
        .blocked;
}

TEST(WaitingText, LinesThatWaitForOthersMayRun) {
    EXPECT_EQ(blocked_for_ever("a #@5 #:g\nb #+g\nc #:g #:h\nd #+h\n", 0), 0U);
    EXPECT_EQ(blocked_for_ever("a #@5\n#:\nb #!\nc\n", 0), 0U);
    EXPECT_EQ(
        blocked_for_ever("a #@5 #:g # worker 5 # (07-28 15:52:29 ... 07-28 15:52:33) #error1\nb #+g\n", 0),
        1U);
    EXPECT_EQ(blocked_for_ever("a #:g # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error1\nb #+g\n", 0),
              1U);
}

std::string others(const std::string& list) {
    return others_text(shared_list::text::Document::read(list).or_throw(), 1);
}

TEST(WaitingText, NamesWhoMayRunWhatIsLeft) {
    EXPECT_EQ(others("a #@1\nb\n#c #@9 # worker 9 # (07-28 15:52:29 ...\n"), "");
    EXPECT_EQ(others("a #@9\n"), "1 line is for other workers: #@9");
    EXPECT_EQ(others("a #@9\nb #@7#@9\nc #@1#@9\n"), "2 lines are for other workers: #@7 #@9");
    EXPECT_EQ(others("a #@2#@3#@4#@5#@6#@7#@8#@9#@10\n"),
              "1 line is for other workers: #@2 #@3 #@4 #@5 #@6 #@7 #@8 #@9 ...");
    EXPECT_EQ(others("a #@\n"), "1 line is for other workers: #@ (no number)");
}

}  // namespace
}  // namespace wq::programs::runtask
