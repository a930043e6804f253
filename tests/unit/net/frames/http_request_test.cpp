#include "net/frames/http_request.h"

#include <gtest/gtest.h>

namespace wq::net::frames {
namespace {

TEST(HttpRequest, HasAPath) {
    const auto path_of = [](const std::string& target) {
        const auto request = read_request("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n", 1000);
        return !request ? "refused" : !*request ? "more" : (*request)->path;
    };
    EXPECT_EQ(path_of("/query.json"), "/query.json");
    EXPECT_EQ(path_of("http://h:1/a%2Fb%zz?c=d"), "/a/b%zz");
    EXPECT_EQ(path_of("https://h"), "/");
    EXPECT_EQ(path_of("a"), "refused");
    EXPECT_TRUE((*read_request("HEAD / HTTP/1.0\r\n\r\n", 1000))->head_only);
    EXPECT_FALSE(*read_request("GET / HTTP/1.1\r\n", 1000));
    for (const std::string& wrong : {std::string("\r\n\r\n"), std::string("\x16\x03\x01\r\n\r\n"),
                                     std::string("a") + std::string(20'000, 'b')})
        EXPECT_FALSE(read_request(wrong, 16 << 10));
}

// As CCTools' catalog_server reads them.
TEST(HttpRequest, LinesMayEndWithoutACarriageReturn) {
    for (const std::string text :
         {"GET /a HTTP/1.0\n\n", "GET /a HTTP/1.0\nHost: h\n\nrest\n", "GET /a HTTP/1.1\r\nHost: h\n\n",
          "GET /a HTTP/1.1\nHost: h\r\n\n", "GET /a HTTP/1.1\nHost: h\n\r\n"}) {
        const auto request = read_request(text, 1000);
        ASSERT_TRUE(request && *request) << text;
        EXPECT_EQ((*request)->path, "/a");
        EXPECT_EQ((*request)->host, text.find("Host") < text.size() ? "h" : "");
        EXPECT_FALSE(*read_request(text.substr(0, text.find("\n")), 1000));
    }
    for (const std::string text : {"GET /a HTTP/1.0\n", "GET /a HTTP/1.0\r\n\r", "GET /a HTTP/1.0\r\r"})
        EXPECT_FALSE(*read_request(text, 1000)) << text;
    for (const std::string text : {"GET /a\n\n", "\nGET /a HTTP/1.0\n\n", "GET /a HTTP/1.0\r\r\n\n",
                                   "GET /a HTTP/1.0\nHost\n\n", "GET /a\rHost: h HTTP/1.0\n\n"})
        EXPECT_FALSE(read_request(text, 1000)) << text;
    std::string many;
    for (int line = 0; line < 300; ++line) many += "a:\n";
    EXPECT_FALSE(read_request("GET /a HTTP/1.0\n" + many + "\n", 1000)) << "more than 1,000 with them";
}

TEST(HttpRequest, HasAMethodAndAHost) {
    const auto read = [](const std::string& text) { return **read_request(text, 1000); };
    const HttpRequest get = read("GET / HTTP/1.1\r\nHost: node1:9123\r\n\r\n");
    EXPECT_TRUE(get.get && get.needs_host && !get.head_only);
    EXPECT_EQ(get.host, "node1:9123");
    EXPECT_FALSE(read("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").get);
    EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").host, "");
    EXPECT_FALSE(read("GET / HTTP/1.0\r\n\r\n").needs_host);
}

}  // namespace
}  // namespace wq::net::frames
