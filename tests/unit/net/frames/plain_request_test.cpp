#include "net/frames/http_request.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

namespace wq::net::frames {
namespace {

using Is = PlainRequest::Is;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string get(const std::string& path, const std::string& host = "127.0.0.1") {
    return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: curl\r\n\r\n";
}
std::string status_of(const std::string& request) {
    const PlainRequest found = plain_request(request);
    if (found.is == Is::question) return "asks for " + found.question;
    return found.is == Is::wrong ? found.answer.substr(9, 3) : found.is == Is::foreign ? "foreign" : "more";
}

TEST(PlainRequest, ALineIsAQuestionOnceItHasEnded) {
    for (const std::string line :
         {"queue_status", "task_status", "worker_status", "wable_status", "resources_status"})
        for (const std::string end : {"\n", "\r\n"}) {
            const std::string whole = line + end;
            for (std::size_t n = 0; n < whole.size(); ++n)
                EXPECT_EQ(status_of(whole.substr(0, n)), "more") << line << n;
            EXPECT_EQ(status_of(whole), "asks for " + line);
            EXPECT_FALSE(plain_request(whole).http);
        }
}

TEST(PlainRequest, OtherBytesAreForeignAtOnce) {
    for (const std::string bytes : {"x", "Q", "queue_statusx", "queue_status \n", "queue_status\rx",
                                    "task_statuses\n", "GETX", "SSH-2.0\r\n", "get /", "\x16\x03", "\n"})
        EXPECT_EQ(status_of(bytes), "foreign") << bytes;
    EXPECT_EQ(status_of(std::string("\0", 1)), "foreign");
}

TEST(PlainRequest, APageIsAQuestionOnceItsHeadHasEnded) {
    const std::string whole = get("/task_status");
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_EQ(status_of(whole.substr(0, n)), "more") << n;
    EXPECT_EQ(status_of(whole), "asks for /task_status");
    EXPECT_TRUE(plain_request(whole).http);
    EXPECT_EQ(status_of(get("/")), "asks for /");
    EXPECT_EQ(status_of(get("/queue_status?x=1")), "asks for /queue_status");
    EXPECT_EQ(status_of("GET /queue_status HTTP/1.0\r\n\r\n"), "asks for /queue_status");
}

TEST(PlainRequest, WrongOnesAreAnsweredInWords) {
    EXPECT_EQ(status_of(get("/favicon.ico")), "404");
    EXPECT_EQ(status_of(get("/../etc/passwd")), "404");
    EXPECT_EQ(status_of("POST /queue_status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "405");
    EXPECT_EQ(status_of("HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "405");
    EXPECT_EQ(status_of("GET nothing\r\n\r\n"), "400");
    EXPECT_EQ(status_of("GET /" + std::string(most_plain_bytes, 'a')), "400");
    EXPECT_EQ(status_of("GET /" + std::string(most_plain_bytes - 6, 'a')), "more");
}

// A page whose name its owner has pointed at this machine must not read the answer.
TEST(PlainRequest, OnlyAnAddressOrTheNameOfThisHostIsAnswered) {
    std::array<char, 256> name{};
    ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
    const std::string own = name.data();
    for (const std::string& host :
         {std::string("localhost"), std::string("LocalHost:9123"), std::string("10.1.2.3:80"),
          std::string("[::1]:9123"), std::string("[fe80::1]"), std::string("localhost."), own, own + ":9123",
          own.substr(0, own.find('.'))})
        EXPECT_EQ(status_of(get("/queue_status", host)), "asks for /queue_status") << host;
    for (const std::string& host :
         {std::string("evil.example"), std::string("localhost.evil.example"),
          std::string("127.0.0.1.example"), own + ".evil.example", std::string("[evil.example]"),
          std::string("["), std::string(":9123"), std::string("evil.example\r\nHost: 127.0.0.1")})
        EXPECT_EQ(status_of(get("/queue_status", host)), "403") << host;
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), "403");
}

TEST(PlainRequest, NoAnswerMayBeReadByPagesOfOthers) {
    constexpr bool by_http = true;
    for (const std::string& answer : {plain_request(get("/", "evil.example")).answer, list_of_questions(),
                                      plain_refusal(by_http, "no"), plain_head("200 OK", "text/plain")}) {
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 "));
        EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
        EXPECT_THAT(answer, HasSubstr("nosniff"));
        EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
    }
    EXPECT_THAT(list_of_questions(), HasSubstr("<a href=\"/task_status\">"));
    EXPECT_EQ(plain_refusal(!by_http, "no"), "no\n");
}

}  // namespace
}  // namespace wq::net::frames
