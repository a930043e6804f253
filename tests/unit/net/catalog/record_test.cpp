#include "net/catalog/record.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "base/json.h"

namespace {

using namespace wq;
using net::catalog::FlatRecord;

std::string read_back(const std::string& bytes) {
    const auto record = net::catalog::read_update(bytes);
    return record ? record->json().dump() : record.error().message;
}

std::string compressed(const std::string& text) {
    uLongf size = ::compressBound(text.size());
    std::string packet(1 + size, '\x1a');
    ::compress(reinterpret_cast<Bytef*>(packet.data() + 1), &size,
               reinterpret_cast<const Bytef*>(text.data()), text.size());
    packet.resize(1 + size);
    return packet;
}

TEST(Record, IsAnObjectOrLinesOrEitherCompressed) {
    EXPECT_EQ(read_back("{\"port\": 1}\n"), "{\"port\":1}");
    EXPECT_EQ(read_back(std::string("{\"port\": 1}\0", 12)), "{\"port\":1}");
    EXPECT_EQ(read_back("type node\nport 9\nload 0.5\nname a b\n\nrest"),
              "{\"type\":\"node\",\"port\":9,\"load\":0.5,\"name\":\"a b\"}");
    EXPECT_EQ(read_back(compressed("{\"port\": 1}")), "{\"port\":1}");
    EXPECT_EQ(read_back(compressed("port 1\n")), "{\"port\":1}");
}

TEST(Record, OtherBytesAreRefused) {
    const std::string no = "no record of a catalog: ";
    EXPECT_EQ(read_back(""), no + "it is empty");
    EXPECT_EQ(read_back("{\"port\": "), no + "its JSON is damaged, or no object");
    EXPECT_EQ(read_back("word"), no + "a line is not 'key value'");
    EXPECT_EQ(read_back("\x1a"
                        "garbage"),
              no + "its zlib stream is damaged");
    EXPECT_EQ(read_back(compressed(compressed("{}"))), no + "it is compressed twice");
    EXPECT_EQ(read_back("{\"a\":" + std::string(200, '[') + std::string(200, ']') + "}"),
              no + "more than 100 levels");
    EXPECT_EQ(read_back(std::string((1 << 20) + 1, ' ')), no + "more than 1 MiB");
    EXPECT_EQ(read_back(compressed("{\"a\":\"" + std::string(2 << 20, 'x') + "\"}")), no + "more than 1 MiB");
}

TEST(Record, APacketIsReadBack) {
    const Json record = {{"type", "wq_master"}, {"text", std::string(5000, 'x')}};
    const std::string packet = net::catalog::packet_of(record, 1200);
    EXPECT_LT(packet.size(), 1200U);
    EXPECT_EQ(read_back(packet), record.dump());
    EXPECT_EQ(net::catalog::packet_of(record, 1 << 20), record.dump());
}

TEST(Record, ItsTextDoesNothingToATerminal) {
    const Json record = {{"a", "\x1b[31m \x7f \xc2\x9b \xc3\xa9 \xff"}};
    EXPECT_EQ(net::catalog::text_of(record), "{\"a\":\"\\u001b[31m \\u007f \\u009b \xc3\xa9 \xef\xbf\xbd\"}");
    EXPECT_EQ(Json::parse(net::catalog::text_of(record)).dump(),
              Json({{"a", "\x1b[31m \x7f \xc2\x9b \xc3\xa9 \xef\xbf\xbd"}}).dump());
    EXPECT_EQ(net::catalog::without_controls("a\x1b\n\x7f\xc2\x9b\xc3\xa9"), "a    \xc3\xa9");
}

// Whatever an update looks like, what the server sets is there once, and members are found.
TEST(Record, AFlatOneIsWhatATreeIs) {
    for (const std::string update :
         {R"({"address":"forged", "a" : {"b":[1,"}",{}]} ,"text":"x,}y","none":null,"f":-1.5e3,"last":[]})",
          R"({"\u0061ddress":"forged","a\"b":1,"text":"\u00e9\n"})", R"({})", R"({"address":1,"address":2})",
          "address forged\nport 9\n"}) {
        const auto read = net::catalog::read_update(update);
        ASSERT_TRUE(read) << update;
        const FlatRecord record = read->with({{"address", "\"own\""}});
        const Json tree = record.json();
        ASSERT_TRUE(tree.is_object()) << record.text();
        EXPECT_EQ(*tree.find("address"), "own");
        EXPECT_EQ(record.text().find("address"), record.text().rfind("address")) << record.text();
        for (const auto& [key, value] : tree.members()) {
            Json found;
            if (key.find('"') != std::string::npos) continue;
            EXPECT_TRUE(record.value_of(key, found)) << key;
            EXPECT_EQ(found, value) << key;
        }
    }
    Json none;
    EXPECT_FALSE(FlatRecord(R"({"ab":1})").value_of("a", none));
    EXPECT_EQ(FlatRecord(R"({"port":"9"})").integer_of("port"), 0);
}

TEST(Record, HasAKeyAndALifetime) {
    EXPECT_EQ(net::catalog::key_of(FlatRecord(R"({"port":9})"), "10.0.0.1", "n"), "10.0.0.1:9:n");
    EXPECT_EQ(net::catalog::key_of(FlatRecord(R"({"uuid":"u"})"), "10.0.0.1", ""), "10.0.0.1:0::u");
    const Duration longest = std::chrono::minutes(30);
    EXPECT_EQ(net::catalog::lifetime_of(FlatRecord(R"({"lifetime":200})"), longest),
              std::chrono::seconds(200));
    EXPECT_EQ(net::catalog::lifetime_of(FlatRecord(R"({"lifetime":20000})"), longest), longest);
    EXPECT_EQ(net::catalog::lifetime_of(FlatRecord(R"({"lifetime":-1})"), longest), longest);
    EXPECT_EQ(net::catalog::lifetime_of(FlatRecord(R"({"lifetime":"1"})"), longest), longest);
}

}  // namespace
