#include "base/listening_clock.h"

#include <gtest/gtest.h>

namespace wq {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

TEST(ListeningClock, SilenceIsWhatWasListenedTo) {
    ListeningClock clock(start, 8s);
    const Instant heard = clock.now();
    for (int second = 1; second < 8; ++second) {
        clock.note_listening(start + second * 1s);
        EXPECT_FALSE(clock.silent(heard)) << second;
    }
    clock.note_listening(start + 8s);
    EXPECT_TRUE(clock.silent(heard));
}

TEST(ListeningClock, OneLookIsAFourthOfThePatienceAtMost) {
    ListeningClock clock(start, 8s);
    const Instant heard = clock.now();
    Instant at = start;
    for (int look = 1; look <= 4; ++look) {
        EXPECT_FALSE(clock.silent(heard)) << look;
        clock.note_listening(at += 7s);
    }
    EXPECT_TRUE(clock.silent(heard)) << "who is slow with each look finds it out all the same";
}

TEST(ListeningClock, AfterAPauseAsLongAsThePatienceAllHaveThatAgain) {
    ListeningClock clock(start, 8s);
    const Instant heard = clock.now();
    for (int second = 1; second < 8; ++second) clock.note_listening(start + second * 1s);
    clock.note_listening(start + 20s);
    EXPECT_FALSE(clock.silent(heard));
    for (int second = 1; second < 8; ++second) clock.note_listening(start + 20s + second * 1s);
    EXPECT_FALSE(clock.silent(heard));
    clock.note_listening(start + 28s);
    EXPECT_TRUE(clock.silent(heard));
}

TEST(ListeningClock, TheNextLookIsSoonEnough) {
    ListeningClock clock(start, 8s);
    const Instant heard = clock.now();
    EXPECT_EQ(clock.next_look(clock.silence_ends(heard)), start + 2s);
    clock.note_listening(start + 1500ms);
    EXPECT_EQ(clock.next_look(clock.now() + 300ms), start + 1800ms);
}

TEST(ListeningClock, DoesNotGoBack) {
    ListeningClock clock(start, 8s);
    clock.note_listening(start + 1s);
    const Instant before = clock.now();
    clock.note_listening(start);
    EXPECT_EQ(clock.now(), before);
}

}  // namespace
}  // namespace wq
