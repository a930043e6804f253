// What a program's manager tells those who ask its port in plain text, as CCTools' programs and curl do.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "api/listening.h"
#include "net/frames/tcp_listener.h"
#include "unit/api/program_fixture.h"

namespace wq {
namespace {

using Json = nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PlainStatusTest : public testing::ProgramTest {
  protected:
    void start_listening(const std::string& status, const std::string& key = {}) {
        const auto door = api::status_door(status, !key.empty()).or_throw();
        net::frames::TcpListenOptions listen;
        listen.bind = {"127.0.0.1"};
        listen.key = key;
        listen.plain_refusal = door.plain_refusal;
        auto listener = net::frames::TcpListener::open(std::move(listen)).or_throw();
        port_ = listener->port();
        api::ProgramManagerOptions options;
        options.wires.push_back({std::move(listener), true});
        net::frames::TransportPair pair =
            net::frames::open_transport_pair("the manager", "a program").or_throw();
        options.wires.push_back({std::move(pair.first), true});
        asker_ = std::move(pair.second);
        options.lists = door.lists;
        start(1, std::move(options));
    }
    int connected() const {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        return socket;
    }
    static std::string rest_of(int socket) {
        std::string all;
        char piece[65536];
        for (ssize_t got = 0; (got = ::recv(socket, piece, sizeof piece, 0)) > 0;)
            all.append(piece, static_cast<std::size_t>(got));
        ::close(socket);
        return all;
    }
    std::string ask(const std::string& question) const {
        const int socket = connected();
        ::send(socket, question.data(), question.size(), MSG_NOSIGNAL);
        return rest_of(socket);
    }
    std::string get(const std::string& path) const {
        return ask("GET " + path + " HTTP/1.1\r\nHost: localhost:" + std::to_string(port_) + "\r\n\r\n");
    }
    static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
    // The answer to a program that speaks our protocol.
    net::messages::Message ask_as_ours(net::messages::StatusOf what) {
        asker_->send(net::frames::PeerId(0), net::messages::encode(net::messages::StatusQuery{
                                                 net::messages::protocol_version, what, 0}));
        for (;;) {
            std::vector<net::frames::Arrival> inbox;
            asker_->poll(inbox);
            for (const net::frames::Arrival& arrival : inbox)
                if (const auto* frame = std::get_if<net::frames::Frame>(&arrival))
                    return net::messages::decode(frame->bytes).value().at(0);
            pollfd ready{asker_->descriptors().front(), POLLIN, 0};
            ::poll(&ready, 1, -1);
        }
    }

    std::uint16_t port_ = 0;
    std::unique_ptr<net::frames::Transport> asker_;
};

TEST_F(PlainStatusTest, AnOpenManagerListsManyTasksInPartsEachOnce) {
    start_listening("");
    for (int n = 0; n < 3000; ++n) submit(Task("echo " + std::string(100, 'x')).tag("t"));
    const Json tasks = Json::parse(ask("task_status\n"));
    ASSERT_EQ(tasks.size(), 3000U);
    for (std::size_t n = 0; n < tasks.size(); ++n) EXPECT_EQ(tasks[n]["taskid"], n + 1);
    EXPECT_EQ(Json::parse(body(get("/task_status"))), tasks);
}

TEST_F(PlainStatusTest, AllListingsAreArrays) {
    start_listening("open", "a key");
    testing::FakeWorker& worker = add_worker({1, "one", 4, {}});
    submit(Task("a command").cores(1).category("big"));
    worker.wait_for_leases(1);
    for (const std::string word : {"queue_status", "resources_status"}) {
        const Json queue = Json::parse(ask(word + "\n"));
        ASSERT_EQ(queue.size(), 1U);
        EXPECT_EQ(queue[0]["type"], "wq_master");
        EXPECT_EQ(queue[0]["tasks_on_workers"], 1);
        EXPECT_EQ(queue[0]["workers"], 1);
        EXPECT_EQ(queue[0]["workers_init"], 1) << "the pipe; who asks in plain text is no worker";
        EXPECT_THAT(queue.dump(), Not(HasSubstr("a command")));
    }
    EXPECT_EQ(Json::parse(ask("worker_status\r\n"))[0]["current_task_000_command"], "a command");
    EXPECT_EQ(Json::parse(ask("wable_status\n")).back()["category"], "whole queue");
    EXPECT_EQ(ask("task_status\n").back(), ']');
    const std::string page = get("/task_status");
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
    EXPECT_THAT(page, HasSubstr("\r\nContent-Type: text/plain"));
    EXPECT_THAT(page, Not(HasSubstr("Access-Control")));
    EXPECT_THAT(get("/"), HasSubstr("<a href=\"/worker_status\">"));
}

TEST_F(PlainStatusTest, AnEmptyListingIsAnEmptyArray) {
    start_listening("open");
    EXPECT_EQ(ask("task_status\n"), "[]");
    EXPECT_EQ(ask("worker_status\n"), "[]");
    EXPECT_EQ(body(get("/task_status")), "[]\n");
}

TEST_F(PlainStatusTest, AKeyKeepsThemOut) {
    start_listening("", "a key");
    submit(Task("secret"));
    EXPECT_THAT(ask("task_status\n"), HasSubstr("--contact FILE or --password FILE"));
    EXPECT_THAT(get("/task_status"), StartsWith("HTTP/1.1 403 "));
    EXPECT_TRUE(
        std::holds_alternative<net::messages::StatusPart>(ask_as_ours(net::messages::StatusOf::tasks)));
}

TEST_F(PlainStatusTest, OffIsForAllButFactories) {
    start_listening("off");
    submit(Task("secret"));
    EXPECT_EQ(ask("task_status\n"), "this manager tells nobody its status: its owner switched it off\n");
    EXPECT_THAT(get("/task_status"),
                EndsWith("this manager tells nobody its status: its owner switched it off\n"));
    EXPECT_TRUE(
        std::holds_alternative<net::messages::StatusReport>(ask_as_ours(net::messages::StatusOf::shapes)));
    program_->list_to_others(true);
}

TEST_F(PlainStatusTest, OffIsForOurProgramsToo) {
    start_listening("open");
    program_->list_to_others(false);
    const net::messages::Message answer = ask_as_ours(net::messages::StatusOf::tasks);
    ASSERT_TRUE(std::holds_alternative<net::messages::Refused>(answer));
    EXPECT_EQ(std::get<net::messages::Refused>(answer).why, "its owner switched its status off");
}

TEST_F(PlainStatusTest, WhoHasNotAskedYetHearsNothingOfTheEnd) {
    start_listening("open");
    const int silent = connected();
    const int begun = connected();
    ::send(begun, "task_", 5, MSG_NOSIGNAL);
    EXPECT_EQ(ask("task_status\n"), "[]");
    program_->end();
    program_.reset();
    EXPECT_EQ(rest_of(silent), "");
    EXPECT_EQ(rest_of(begun), "");
}

TEST(StatusDoor, FollowsFromTheKeyUnlessAWordIsGiven) {
    const auto refusal = [](const std::string& word, bool key) {
        return api::status_door(word, key).or_throw().plain_refusal;
    };
    EXPECT_EQ(refusal("", false), "");
    EXPECT_EQ(refusal("open", true), "");
    EXPECT_NE(refusal("", true), "");
    EXPECT_NE(refusal("key", false), "");
    constexpr bool has_key = false;
    EXPECT_FALSE(api::status_door("off", has_key).or_throw().lists);
    const auto wrong = api::status_door("Open", has_key);
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().message, "status is open, key or off, not 'Open'");
}

}  // namespace
}  // namespace wq
