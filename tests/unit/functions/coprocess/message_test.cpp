#include "functions/coprocess/message.h"

#include <gtest/gtest.h>

namespace wq::functions::coprocess {
namespace {

TEST(Message, IsReadInPartsOfAnySize) {
    const std::string whole = with_length("{\"a\": \"b\nc\"}", "signal 11") + "more";
    for (std::size_t part = 1; part <= whole.size(); ++part) {
        LengthReader reader(100);
        for (std::size_t at = 0; at < whole.size() && !reader.complete(); at += part)
            reader.feed(std::string_view(whole).substr(at, part));
        EXPECT_TRUE(reader.complete()) << part;
        EXPECT_EQ(reader.body(), "{\"a\": \"b\nc\"}");
        EXPECT_EQ(reader.words(), "signal 11");
    }
}

TEST(Message, MayBeEmpty) {
    LengthReader reader(10);
    reader.feed("0\n");
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.body(), "");
}

TEST(Message, OfNoLengthIsBroken) {
    for (const char* const text : {"x\n", "-1\n", "\n", "12x\n", "101\n", "99999999999999999999999\n"}) {
        LengthReader reader(100);
        reader.feed(text);
        EXPECT_TRUE(reader.broken()) << text;
        EXPECT_FALSE(reader.complete()) << text;
        reader.feed("5\nabcde");
        EXPECT_FALSE(reader.complete()) << text;
    }
    LengthReader endless(100);
    endless.feed(std::string(1000, '1'));
    EXPECT_TRUE(endless.broken());
}

TEST(Message, MayBeTooLong) {
    for (const auto& [text, too_long] : {std::pair("101\n", true),
                                         {"99999999999999999999999 status 200\n", true},
                                         {"x\n", false},
                                         {"100\n", false}}) {
        LengthReader reader(100);
        reader.feed(text);
        EXPECT_EQ(reader.too_long(), too_long) << text;
    }
}

TEST(Message, OfACallIsThatOfWorkQueue) {
    EXPECT_EQ(call_line("my_sum", 7, 20), "my_sum 7 20\n");
}

}  // namespace
}  // namespace wq::functions::coprocess
