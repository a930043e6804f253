#include "net/catalog/catalog_client.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

using namespace wq;

TEST(CatalogHosts, AreAListWithPorts) {
    ::unsetenv("CATALOG_PORT");
    const net::catalog::CatalogHosts two{{"a", 9097}, {"::1", 7}};
    EXPECT_EQ(net::catalog::read_catalog_hosts("a, [::1]:7").value(), two);
    EXPECT_TRUE(net::catalog::read_catalog_hosts("").value().empty());
    EXPECT_EQ(net::catalog::read_catalog_hosts("a:0").error().code, ExitCode::usage);
    ::setenv("CATALOG_PORT", "90", 1);
    EXPECT_EQ(net::catalog::read_catalog_hosts("a").value().front().port, 90);
    ::unsetenv("CATALOG_PORT");
    ::setenv("CATALOG_HOST", "b", 1);
    EXPECT_EQ(net::catalog::named_catalog_hosts("").value().front().host, "b");
    EXPECT_EQ(net::catalog::named_catalog_hosts("a").value().front().host, "a");
    ::unsetenv("CATALOG_HOST");
    EXPECT_TRUE(net::catalog::named_catalog_hosts("").value().empty());
}

TEST(CatalogQuery, Base64IsThatOfHttpClients) {
    EXPECT_EQ(net::catalog::base64_of("port==1"), "cG9ydD09MQ==");
    for (const std::string text : {"", "a", "ab", "abc", "a???b", "\xff\xfe\xfd"})
        EXPECT_EQ(net::catalog::bytes_of_base64(net::catalog::base64_of(text)).value(), text);
    EXPECT_FALSE(net::catalog::bytes_of_base64("a b"));
}

TEST(CatalogQuery, AnAnswerIsAListOfRecords) {
    const auto answer =
        net::catalog::records_of_answer("HTTP/1.1 200 OK\nServer: s\n\n[\n{\"a\":1},\n{}\n\n]\n");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->size(), 2U);
    EXPECT_TRUE(net::catalog::records_of_answer("HTTP/1.1 200 OK\r\n\r\n[]"));
    for (const char* const wrong : {"", "HTTP/1.1 200 OK\r\n\r\n[{\"a\":", "HTTP/1.1 200 OK\r\n\r\n[1]",
                                    "HTTP/1.1 404 Not Found\r\n\r\n[]", "SSH-2.0\n\n[]"})
        EXPECT_EQ(net::catalog::records_of_answer(wrong).error().code, ExitCode::unreachable) << wrong;
}

TEST(CatalogQuery, AnAnswerHasTheTimeOfItsServer) {
    const std::string head = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:01:40 GMT\r\nServer: s\r\n\r\n[]";
    EXPECT_EQ(net::catalog::date_of_answer(head), 100 * micros_per_second);
    // CCTools' has the local time of an unknown zone.
    for (const char* const none :
         {"", "HTTP/1.1 200 OK\n\n[]", "HTTP/1.1 200 OK\nDate: Sat Nov 28 17:58:03 2026\nServer: s\n\n[]",
          "HTTP/1.1 200 OK\r\nDate: now\r\n\r\n[]", "HTTP/1.1 200 OK\r\nDate: ",
          "HTTP/1.1 200 OK\r\n\r\n[\r\nDate: Thu, 01 Jan 1970 00:01:40 GMT\r\n]"})
        EXPECT_EQ(net::catalog::date_of_answer(none), std::nullopt) << none;
}

TEST(CatalogQuery, NobodyThereIsUnreachable) {
    // Port 1 of this machine: nothing listens there.
    net::catalog::CatalogClient client({{"127.0.0.1", 1}});
    const auto records = client.query("", instant_now());
    ASSERT_FALSE(records);
    EXPECT_EQ(records.error().code, ExitCode::unreachable);
    EXPECT_TRUE(records.error().message.starts_with("127.0.0.1:1: ")) << records.error().message;
    EXPECT_EQ(client.query("(", instant_now()).error().code, ExitCode::bad_input);
    EXPECT_EQ(net::catalog::CatalogClient({}).query("", instant_now()).error().message,
              "no catalog server is named");
    EXPECT_EQ(net::catalog::send_update({{"127.0.0.1", 1}}, {{"a", 1}}, {}).error().code,
              ExitCode::unreachable);
}

}  // namespace
