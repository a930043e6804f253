#include "work_queue/batch.h"

#include <gmock/gmock.h>

#include <numeric>

#include "functions/pool/channel.h"
#include "functions/pool/storage.h"

namespace wq {
namespace {

using functions::pool::Blocks;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr ElementType last_type = ElementType::complex128;

// As it comes to another process, but with the same mapping.
Result<Batch> sent(Batch& batch) {
    std::string bytes;
    Blocks blocks;
    functions::pool::encode(batch, bytes, blocks);
    for (const auto& block : blocks) block->add_user();
    return functions::pool::decode(bytes, blocks);
}

void fill(Array& array, int seed) {
    std::uint8_t at = static_cast<std::uint8_t>(seed);
    for (std::byte& byte : array.mutable_bytes()) byte = static_cast<std::byte>(at++);
}

TEST(Batch, KeepsValuesOfEachKind) {
    Batch batch;
    batch.set("integer", 7);
    batch.set("flag", true);
    batch.set("number", 2.5f);
    batch.set("text", "words");
    batch.set("bytes", Batch::Bytes{std::byte{1}, std::byte{0}});
    batch.set("array", Array::copy_of(std::vector<int>{1, 2, 3}));
    batch.set("text", std::string("others"));
    EXPECT_EQ(batch.size(), 6U);
    EXPECT_EQ(batch.integer("integer"), 7);
    EXPECT_EQ(batch.integer("flag"), 1);
    EXPECT_EQ(batch.number("number"), 2.5);
    EXPECT_EQ(batch.number("integer"), 7.0);
    EXPECT_EQ(batch.text("text"), "others");
    EXPECT_THAT(batch.bytes("bytes"), ElementsAre(std::byte{1}, std::byte{0}));
    EXPECT_THAT(batch.array("array").values<int>(), ElementsAre(1, 2, 3));
    EXPECT_TRUE(batch.remove("flag"));
    EXPECT_FALSE(batch.remove("flag"));
}

TEST(Batch, SaysWhatIsMissingOrOfAnotherKind) {
    Batch batch;
    EXPECT_THAT([&] { batch.text("x"); }, ThrowsMessage<BatchError>(HasSubstr("no 'x'; it has nothing")));
    batch.set("a", 1);
    batch.set("b", Array::of<float>({2}));
    EXPECT_THAT([&] { batch.text("x"); }, ThrowsMessage<BatchError>(HasSubstr("no 'x'; it has a, b")));
    EXPECT_THAT([&] { batch.text("a"); },
                ThrowsMessage<BatchError>(HasSubstr("'a' is an integer, not a text")));
    EXPECT_THAT([&] { batch.array("b").values<double>(); },
                ThrowsMessage<BatchError>(HasSubstr("are float32, not float64")));
}

TEST(Batch, TravelsWithArraysOfAllTypesAndShapes) {
    const std::vector<Array::Shape> shapes{{},           {0},    {3},         {0, 5},   {2, 3},
                                           {1, 1, 1, 7}, {5000}, {64, 3, 32}, {4, 0, 1}};
    for (int type = 0; type <= static_cast<int>(last_type); ++type) {
        Batch batch;
        for (std::size_t at = 0; at < shapes.size(); ++at) {
            Array array(static_cast<ElementType>(type), shapes[at]);
            fill(array, type + static_cast<int>(at));
            batch.set("array " + std::to_string(at), std::move(array));
        }
        const auto other = sent(batch);
        ASSERT_TRUE(other) << other.error().message;
        for (std::size_t at = 0; at < shapes.size(); ++at) {
            const Array& before = batch.array("array " + std::to_string(at));
            const Array& after = other->array("array " + std::to_string(at));
            EXPECT_EQ(after.type(), static_cast<ElementType>(type));
            EXPECT_EQ(after.shape(), shapes[at]);
            EXPECT_EQ(after.size() * bytes_of(after.type()), after.bytes().size());
            EXPECT_TRUE(std::equal(before.bytes().begin(), before.bytes().end(), after.bytes().begin(),
                                   after.bytes().end()));
            EXPECT_EQ(before.is_shared(), before.bytes().size() > executor::largest_on_heap);
            if (before.is_shared()) {
                EXPECT_EQ(after.bytes().data(), before.bytes().data());
            }
        }
    }
}

TEST(Batch, CopiesShareElementsUntilOneIsChanged) {
    for (const std::size_t size : {std::size_t{4}, std::size_t{100000}}) {
        Array first = Array::of<std::uint8_t>({size});
        fill(first, 0);
        Array second = first;
        EXPECT_EQ(second.bytes().data(), first.bytes().data());
        second.mutable_values<std::uint8_t>()[1] = 77;
        EXPECT_EQ(first.values<std::uint8_t>()[1], 1);
        EXPECT_EQ(second.values<std::uint8_t>()[1], 77);
        const std::byte* const alone = second.bytes().data();
        second.mutable_values<std::uint8_t>()[2] = 78;
        EXPECT_EQ(second.bytes().data(), alone);
    }
}

TEST(Batch, WhatIsOnItsWayIsNotChanged) {
    Batch batch;
    batch.set("large", Array::of<std::uint8_t>({100000}));
    fill(batch.array("large"), 0);
    auto other = sent(batch);
    ASSERT_TRUE(other);
    batch.array("large").mutable_values<std::uint8_t>()[0] = 9;
    EXPECT_EQ(other->array("large").values<std::uint8_t>()[0], 0);
    EXPECT_EQ(batch.array("large").values<std::uint8_t>()[0], 9);
    // The other one is alone now.
    const std::byte* const before = other->array("large").bytes().data();
    EXPECT_EQ(other->array("large").mutable_bytes().data(), before);
}

TEST(Batch, ReusesBlocksThatAllHaveDropped) {
    const functions::pool::KeepBlocks keep_blocks(100 << 20);
    const std::byte* first = nullptr;
    {
        const Array array = Array::of<char>({1 << 20});
        first = array.bytes().data();
    }
    const Array again = Array::of<char>({(1 << 20) - 5000});
    EXPECT_EQ(again.bytes().data(), first);
    EXPECT_NE(Array::of<char>({1 << 20}).bytes().data(), first);
}

TEST(Batch, TooLargeAnArrayIsAnError) {
    EXPECT_THAT([] { Array::of<double>({std::size_t{1} << 44}); },
                ThrowsMessage<BatchError>(HasSubstr("no memory is left")));
    EXPECT_THAT(
        [] {
            Array::of<double>({std::size_t{1} << 40, std::size_t{1} << 40});
        },
        ThrowsMessage<BatchError>(HasSubstr("larger than any memory")));
    EXPECT_EQ(Array::of<double>({std::size_t{1} << 63, 0}).size(), 0U);
}

TEST(Batch, TakesAnotherShapeOfAsManyElements) {
    Array array = Array::copy_of(std::vector<double>{1, 2, 3, 4, 5, 6});
    array.reshape({2, 3});
    EXPECT_THAT(array.shape(), ElementsAre(2, 3));
    EXPECT_THAT([&] { array.reshape({4}); },
                ThrowsMessage<BatchError>(HasSubstr("(2, 3) cannot have shape (4)")));
}

TEST(Batch, AnArrayThatWasMovedFromHasNoElements) {
    for (const std::size_t size : {std::size_t{3}, std::size_t{100000}}) {
        Array first = Array::of<std::int32_t>({size, 1});
        Array second = std::move(first);
        EXPECT_THAT(second.shape(), ElementsAre(size, 1));
        Batch batch;
        batch.set("first", first);  // NOLINT(bugprone-use-after-move): it has a state that is told
        const auto other = sent(batch);
        ASSERT_TRUE(other) << other.error().message;
        for (const Array* const empty : {&std::as_const(first), &other->array("first")}) {
            EXPECT_EQ(empty->size(), 0U);
            EXPECT_EQ(empty->bytes().size(), 0U);
            EXPECT_THAT(empty->shape(), ElementsAre(0));
            EXPECT_EQ(empty->type(), ElementType::float64);
        }
        first = std::move(second);
        EXPECT_EQ(first.size(), size);
        Array& same = first;
        first = std::move(same);
        EXPECT_EQ(first.size(), size);
    }
}

TEST(Batch, DamagedBytesAreAnError) {
    Batch batch;
    batch.set("integer", 70000);
    batch.set("text", "words");
    batch.set("array", Array::copy_of(std::vector<float>{1, 2, 3}));
    batch.set("large", Array::of<double>({10000}));
    std::string bytes;
    Blocks blocks;
    functions::pool::encode(batch, bytes, blocks);
    const auto decoded = [&](std::string_view some) {
        for (const auto& block : blocks) block->add_user();
        return functions::pool::decode(some, blocks).ok();
    };
    EXPECT_TRUE(decoded(bytes));
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(decoded(bytes.substr(0, cut)));
    for (std::size_t at = 0; at < bytes.size(); ++at)
        for (const char flip : {'\x01', '\x80', '\xff'}) {
            std::string other = bytes;
            other[at] = static_cast<char>(other[at] ^ flip);
            decoded(other);  // whatever it gives
        }
    EXPECT_FALSE(functions::pool::decode(bytes, {}).ok());  // a block is missing
}

}  // namespace
}  // namespace wq
