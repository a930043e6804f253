#include "net/catalog_server/answer.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

#include "base/json.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/record.h"
#include "net/catalog_server/guests.h"
#include "net/catalog_server/queries.h"

namespace {

using namespace wq;
using namespace wq::net::catalog_server;

struct Answers : testing::Test {
    net::catalog::RecordTable table{{}};
    ServerFacts facts{"here", "1", [] { return WallMicros{10'000'000}; }};
    void add(const Json& record) {
        ASSERT_TRUE(table.update(net::catalog::FlatRecord(net::catalog::text_of(record)),
                                 {"10.0.0.1", "", net::catalog::Protocol::tcp}, Instant{}, 7'000'000));
    }
    std::string all_of(const Pieces& pieces, std::size_t* longest = nullptr) {
        std::string text;
        for (bool more = true; more;) {
            std::string piece;
            more = pieces(piece);
            if (longest != nullptr) *longest = std::max(*longest, piece.size());
            text += piece;
        }
        return text;
    }
    std::string body(const std::string& path) {
        const std::string answer = all_of(answer_to({path, false}, table, facts));
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer.substr(0, 40);
        return answer.substr(answer.find("\r\n\r\n") + 4);
    }
    std::string status(const std::string& path) {
        const std::string answer = all_of(answer_to({path, false}, table, facts));
        return answer.substr(9, 3);
    }
};

TEST_F(Answers, EachFormHasAllRecords) {
    add({{"name", "b"}, {"port", 2}, {"list", Json::array({1, "x"})}});
    add({{"name", "a\n"}, {"port", 1}});
    EXPECT_EQ(
        body("/query.json"),
        "[\n{\"port\":1,\"address\":\"10.0.0.1\",\"lastheardfrom\":7,\"name\":\"a\\n\"},\n"
        "{\"port\":2,\"list\":[1,\"x\"],\"address\":\"10.0.0.1\",\"lastheardfrom\":7,\"name\":\"b\"}\n\n]\n");
    EXPECT_EQ(body("/query.text"),
              "port 1\naddress 10.0.0.1\nlastheardfrom 7\nname a \n\n"
              "port 2\nlist [1,\"x\"]\naddress 10.0.0.1\nlastheardfrom 7\nname b\n\n");
    EXPECT_TRUE(body("/query.newclassads").starts_with("[\nport=1;\naddress=\"10.0.0.1\";\n"));
    EXPECT_EQ(body("/query/" + net::catalog::base64_of("port==2")),
              "[\n{\"port\":2,\"list\":[1,\"x\"],\"address\":\"10.0.0.1\",\"lastheardfrom\":7,\"name\":\"b\"}"
              "\n\n]\n");
    EXPECT_EQ(body("/query/" + net::catalog::base64_of("port==2") + "/").size(),
              body("/query/" + net::catalog::base64_of("port==2")).size());
    EXPECT_EQ(status("/query/!"), "400");
    EXPECT_EQ(status("/query/" + net::catalog::base64_of("port==")), "400");
    EXPECT_EQ(status("/nothing"), "404");
    EXPECT_EQ(status("/detail/none"), "404");
}

TEST_F(Answers, ALargeTableComesInPieces) {
    for (int port = 0; port < 3000; ++port)
        add({{"name", "n"}, {"port", port}, {"text", std::string(100, 'x')}});
    std::size_t longest = 0;
    const std::string answer = all_of(answer_to({"/query.json", false}, table, facts), &longest);
    EXPECT_EQ(Json::parse(answer.substr(answer.find("\r\n\r\n"))).size(), 3000U);
    EXPECT_LT(longest, 2 * piece_bytes);
}

TEST_F(Answers, ARecordMayGoWhileOneReads) {
    for (int port = 1000; port < 4000; ++port)
        add({{"name", "n"}, {"port", port}, {"text", std::string(100, 'x')}});
    const Pieces pieces = answer_to({"/query.json", false}, table, facts);
    std::string text;
    ASSERT_TRUE(pieces(text));
    table.expire(Instant(std::chrono::hours(1)));
    add({{"name", "z"}, {"port", 1}});
    text += all_of(pieces);
    const Json left = Json::parse(text.substr(text.find("\r\n\r\n")));
    EXPECT_LT(left.size(), 3000U);
    EXPECT_EQ(*left.parts().back().find("port"), 1);
}

// Strangers announce records.
TEST_F(Answers, PagesRunNothingOfARecord) {
    const std::string attack = "<script>alert(1)</script>\"'&\x1b[31m\n";
    add({{"project", attack},
         {"name", attack},
         {"owner", attack},
         {"type", attack},
         {"tasks_waiting", attack},
         {attack, {attack}}});
    const std::string list = body("/");
    const std::string key = table.behind(nullptr)->first.key;
    const std::string detail = body("/detail/" + key);
    for (const std::string& page : {list, detail}) {
        EXPECT_EQ(page.find("<script>alert"), std::string::npos);
        EXPECT_EQ(page.find('\x1b'), std::string::npos);
        EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp; [31m"), std::string::npos);
    }
    EXPECT_NE(list.find("href=\"detail/10.0.0.1%3A0%3A%3Cscript%3E"), std::string::npos);
    EXPECT_EQ(in_html("ab\xc3\xa9", 3), "ab…") << "no half of a character";
    EXPECT_EQ(in_html(std::string(400, 'x')).size(), 300 + std::string("…").size());
}

TEST_F(Answers, APageShowsTheStateOfEach) {
    add({{"project", "sim"},
         {"type", "wq_master"},
         {"port", 9123},
         {"tasks_waiting", 1},
         {"tasks_running", 1},
         {"tasks_complete", 2},
         {"workers", 5}});
    const std::string page = body("/");
    for (const char* const part :
         {">sim</a>", "data-value=\"9123\">9123<", "value=\"0.500000\"></progress>", ">3 s<", "1 record,"})
        EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
}

struct Visitor : Guest {
    bool left = false;
    void leave() override { left = true; }
};
const Instant end_of_time(std::chrono::hours(1));
std::shared_ptr<Visitor> visitor(Guests& guests, const std::string& address) {
    auto one = std::make_shared<Visitor>();
    one->address = address;
    guests.add(one, end_of_time);
    return one;
}

// No time passes.
TEST(Guests, TheOldestSilentOneOfAnAddressWithManyLeavesAtOnce) {
    Guests guests({8, 10, 1000});
    const auto first = visitor(guests, "a");
    const auto answered = visitor(guests, "b");
    guests.is_answered(*answered, end_of_time, 100);
    std::vector<std::shared_ptr<Visitor>> flood;
    for (int count = 0; count < 3000; ++count) flood.push_back(visitor(guests, "b"));
    EXPECT_FALSE(first->left || answered->left);
    EXPECT_EQ(std::ranges::count_if(flood, [](const auto& one) { return one->left; }), 3000 - 7);
    EXPECT_FALSE(flood[2993]->left) << "the newest stay";
    const auto other = visitor(guests, "c");
    EXPECT_FALSE(first->left) << "an older one, but of an address with few";
    // Those of many addresses, by their age.
    for (int count = 0; count < 8; ++count) visitor(guests, std::to_string(count));
    EXPECT_TRUE(first->left && flood.back()->left && other->left);
    EXPECT_FALSE(answered->left);
    EXPECT_EQ(guests.size(), 9U);
}

TEST(Guests, WhoeverTakesNothingForLongestLeavesWhenThereAreManyAnswers) {
    Guests guests({8, 2, 1000});
    const auto slow = visitor(guests, "a"), fast = visitor(guests, "b"), silent = visitor(guests, "c");
    for (const auto& one : {slow, fast, fast}) guests.is_answered(*one, end_of_time, 0);
    guests.is_answered(*visitor(guests, "d"), end_of_time, 0);
    EXPECT_TRUE(slow->left);
    EXPECT_FALSE(fast->left || silent->left);
    for (int count = 0; count < 2; ++count) guests.remove(*fast);
    EXPECT_EQ(guests.size(), 2U);
    guests.sweep(end_of_time);
    EXPECT_TRUE(silent->left);
}

// However many an address asks for, another one waits for one of them.
TEST(QueryTurns, OneOfEachAddressBetweenTwoLooksAtTheSockets) {
    boost::asio::io_context context;
    QueryTurns turns(context);
    std::string order;
    std::function<bool(char, const std::string&, int)> part = [&](char name, const std::string& address,
                                                                  int more) {
        order += name;
        if (more > 0)
            turns.add(address, [&part, name, address, more] { return part(name, address, more - 1); });
        return true;
    };
    for (const char name : {'a', 'b', 'c'}) turns.add("1", [&part, name] { return part(name, "1", 1); });
    turns.add("2", [] { return false; });  // has left
    turns.add("2", [&part] { return part('x', "2", 2); });
    std::function<void()> look = [&] {
        order += '.';
        if (order.size() < 19) boost::asio::post(context, look);
    };
    boost::asio::post(context, look);
    context.run();
    EXPECT_EQ(order, "a.x.b.x.c.x.a.b.c..");
}

TEST(QueryTurns, ThoseWhoHaveLeftTakeNoTurn) {
    boost::asio::io_context context;
    QueryTurns turns(context);
    int kept = 0;
    for (int count = 0; count < 10'000; ++count)
        turns.add("a", [gone = std::shared_ptr<void>(&kept, [&](void*) { --kept; })] { return false; });
    kept = 10'000;
    bool answered = false;
    turns.add("a", [&] { return answered = true; });
    std::function<bool()> live = [&] {
        turns.add("b", live);
        return true;
    };
    turns.add("b", live);
    for (int count = 0; count < 4; ++count) context.run_one();
    EXPECT_EQ(kept, 0);
    EXPECT_TRUE(answered);
}

TEST(Guests, AMachineIsANetworkOfIpv6) {
    EXPECT_EQ(neighbours_of("192.0.2.9"), "192.0.2.9");
    EXPECT_EQ(neighbours_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    EXPECT_EQ(neighbours_of("2001:db8:1:2::"), neighbours_of("2001:db8:1:2:ffff::1"));
    EXPECT_NE(neighbours_of("2001:db8:1:2::"), neighbours_of("2001:db8:1:3::"));
    EXPECT_EQ(neighbours_of("fe80::1%eth0"), "fe80::1%eth0");
    Guests guests({8, 10, 1000});
    const auto first = visitor(guests, "2001:db8::1");
    for (int count = 0; count < 100; ++count) visitor(guests, "2001:db8:1:2::" + std::to_string(count));
    EXPECT_FALSE(first->left);
}

TEST(Guests, WhoeverHoldsMemoryLongestLeavesWhenItIsShort) {
    Guests guests({10, 10, 1000});
    const auto slow = visitor(guests, "a");
    const auto fast = visitor(guests, "b");
    guests.is_answered(*slow, end_of_time, 600);
    guests.is_answered(*fast, end_of_time, 300);
    guests.is_answered(*fast, end_of_time, 500);
    EXPECT_TRUE(slow->left);
    EXPECT_FALSE(fast->left);
    EXPECT_EQ(guests.bytes(), 500U);
}

}  // namespace
