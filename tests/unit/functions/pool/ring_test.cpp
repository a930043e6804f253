#include "functions/pool/page.h"

#include <gmock/gmock.h>

#include <memory>
#include <random>
#include <thread>

namespace wq::functions::pool {
namespace {

struct Pair {
    explicit Pair(RingShape given) : shape(given), bytes(std::make_unique<std::byte[]>(shape.bytes)) {}
    RingShape shape;
    std::unique_ptr<std::byte[]> bytes;
    RingControl control;
    RingWriter writer{control, bytes.get(), shape};
    RingReader reader{control, bytes.get(), shape};
};

TEST(Ring, GivesMessagesInOrderAroundItsEnd) {
    Pair ring({7, 4096});
    std::mt19937 random(1);
    std::vector<std::string> sent;
    std::size_t read = 0;
    while (read < 5000) {
        if (sent.size() < 5000 && ring.writer.waiting() < 7 && random() % 2 == 0) {
            const std::string message(random() % 600, static_cast<char>('a' + random() % 26));
            if (ring.writer.fits(message.size())) {
                ring.writer.push(message.substr(0, message.size() / 3), message.substr(message.size() / 3));
                sent.push_back(message);
            }
        } else if (!ring.reader.empty()) {
            ASSERT_EQ(ring.reader.read(), sent[read++]);
            ring.reader.taken();
        }
    }
    EXPECT_TRUE(ring.reader.empty());
}

TEST(Ring, AlwaysHasRoomForSmallMessagesOfItsNumber) {
    Pair ring({5, 1024});
    const std::string small(always_fits, 's');
    for (int round = 0; round < 50; ++round) {
        std::size_t largest = 0;
        while (ring.writer.fits(largest + 1)) ++largest;
        ring.writer.push(std::string(largest, 'l'), "");
        while (ring.writer.waiting() < 5) {
            ASSERT_TRUE(ring.writer.fits(small.size()));
            ring.writer.push(small, "");
        }
        EXPECT_EQ(ring.reader.read()->size(), largest);
        for (ring.reader.taken(); !ring.reader.empty(); ring.reader.taken())
            ASSERT_EQ(ring.reader.read(), small);
    }
}

std::string message_of(std::uint32_t number) {
    return std::string(number * 37 % 301, static_cast<char>('a' + number % 26));
}

// With bells, as program and worker have them.
TEST(Ring, GivesMessagesOfAnotherThread) {
    constexpr std::uint32_t messages = 50'000;
    Pair ring({3, 2048});
    Bell room;
    Bell filled;
    Yields writers;
    Yields readers;
    std::thread writer([&] {
        for (std::uint32_t number = 0; number < messages; ++number) {
            const std::string message = message_of(number);
            room.wait([&] { return ring.writer.waiting() < 3 && ring.writer.fits(message.size()); }, writers);
            ring.writer.push(message, "");
            filled.ring();
        }
    });
    std::uint32_t wrong = 0;
    for (std::uint32_t number = 0; number < messages; ++number) {
        filled.wait([&] { return !ring.reader.empty(); }, readers);
        wrong += ring.reader.read() != message_of(number);
        ring.reader.taken();
        room.ring();
    }
    writer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_TRUE(ring.reader.empty());
}

TEST(Ring, ReadsADamagedSizeAsDamage) {
    Pair ring({2, 1024});
    ring.writer.push("abc", "");
    ring.bytes[3] = std::byte{0xff};
    EXPECT_EQ(ring.reader.read(), std::nullopt);
}

}  // namespace
}  // namespace wq::functions::pool
