// The port of a program's manager: who is let in, where it is, and how often both ends speak.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "api/listening.h"
#include "net/frames/tcp_dialer.h"
#include "net/frames/tls_identity.h"
#include "unit/api/logs_fixture.h"
#include "unit/net/frames/tcp_ends.h"
#include "work_queue/manager.h"

namespace wq {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::LogsTest;

class ListenTest : public LogsTest {
  protected:
    Result<api::Listening> listen(const ManagerOptions& options) {
        return api::listen(
            options, [this](const std::string& line) { said_.push_back(line); },
            [this](const char* name) -> const char* {
                const auto found = variables_.find(name);
                return found == variables_.end() ? nullptr : found->second.c_str();
            });
    }
    std::map<std::string, std::string> variables_;
};

TEST_F(ListenTest, AnOpenManagerHasAWarningThatNamesTheCure) {
    ManagerOptions options;
    options.port = 0;
    const auto open = listen(options);
    ASSERT_TRUE(open) << open.error().message;
    EXPECT_GE(open->port.number(), 1024);
    EXPECT_THAT(open->warning, HasSubstr("contact_file"));
    EXPECT_THAT(open->warning, HasSubstr(std::to_string(open->port.number())));
    EXPECT_TRUE(said_.empty()) << "the manager may yet fail to begin";
}

TEST_F(ListenTest, AKeyThatIsRequiredIsRequired) {
    ManagerOptions options;
    options.port = 0;
    variables_["WORK_QUEUE_REQUIRE_KEY"] = "1";
    const auto refused = listen(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::not_allowed);
    EXPECT_THAT(refused.error().message, HasSubstr("password_file"));
    options.contact_file = path("contact");
    const auto closed = listen(options);
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->warning, "");
}

TEST_F(ListenTest, APortInUseAndAnEmptyPasswordAreRefused) {
    ManagerOptions options;
    options.port = 0;
    options.password = "secret";
    const auto first = listen(options);
    ASSERT_TRUE(first);
    options.port = first->port.number();
    const auto second = listen(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::unreachable);
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(first->port.number())));
    std::ofstream(path("empty")).close();
    options.port = 0;
    options.password.clear();
    options.password_file = path("empty");
    const auto empty = listen(options);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().code, ExitCode::bad_input);
}

using namespace std::chrono_literals;

TEST_F(ListenTest, SocketsThatListenAlreadyAreTakenOver) {
    ManagerOptions options;
    options.port = 0;
    auto held = api::hold_port(options);
    ASSERT_TRUE(held) << held.error().message;
    ManagerOptions same;
    same.port = held->port;
    EXPECT_FALSE(api::hold_port(same)) << "the port is taken";
    EXPECT_FALSE(listen(same));

    // Who has connected before is heard, and the manager's port is its own.
    net::frames::TcpDialOptions dial;
    dial.managers = {{"127.0.0.1", static_cast<std::uint16_t>(held->port)}};
    const auto dialer = net::frames::TcpDialer::open(dial);
    ASSERT_TRUE(dialer) << dialer.error().message;
    options.sockets = held->descriptors();
    auto listening = listen(options);
    ASSERT_TRUE(listening) << listening.error().message;
    EXPECT_EQ(listening->port.number(), held->port);
    held->sockets.clear();
    net::frames::test::End manager(std::move(listening->port.listener));
    EXPECT_TRUE(manager.await_count<net::frames::Joined>(1));

    options.sockets = {0};
    const auto refused = listen(options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("descriptor 0 is not a listening socket"));
}

TEST(AwayLimit, IsLongEnoughForWorkersToHearTheirManager) {
    ManagerOptions options;
    EXPECT_EQ(*api::disconnect_limit_of(options), 60s);
    options.away_limit = 0;
    EXPECT_EQ(*api::disconnect_limit_of(options), 0s);
    options.away_limit = 10;
    EXPECT_TRUE(api::disconnect_limit_of(options));
    options.away_limit = 9;
    const auto refused = api::disconnect_limit_of(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::usage);
}

TEST(CommandOfWorker, FitsWhatTheManagerAsksFor) {
    const auto command = [](auto set) {
        ManagerOptions options;
        set(options);
        return api::command_of_worker(options, 9123);
    };
    const std::string elsewhere = " (on another machine: the name of this one instead of localhost)";
    EXPECT_EQ(command([](auto&) {}), "work_queue_worker localhost 9123" + elsewhere);
    EXPECT_EQ(command([](auto& o) { o.ssl = true; }), "work_queue_worker --ssl localhost 9123" + elsewhere);
    EXPECT_EQ(command([](auto& o) { o.name = "a name"; }), "work_queue_worker -M 'a name'");
    EXPECT_EQ(command([](auto& o) { o.name = "p", o.password_file = "/a/key", o.ssl_key = "k"; }),
              "work_queue_worker --ssl --password /a/key -M p");
    EXPECT_EQ(command([](auto& o) { o.password = "secret"; }),
              "work_queue_worker --password FILE_WITH_THE_PASSWORD localhost 9123" + elsewhere);
    EXPECT_EQ(command([](auto& o) { o.contact_file = "/my work/contact", o.name = "p"; }),
              "work_queue_worker --contact '/my work/contact'");
    EXPECT_EQ(command([](auto& o) { o.contact_file = "contact"; }),
              "work_queue_worker --contact " + (std::filesystem::current_path() / "contact").string());
}

TEST(KeepAlive, ASilentWorkerIsLostAfterBothTimesAndNotBefore30Seconds) {
    const auto silence = [](double interval, double timeout) {
        return std::chrono::duration<double>(api::silence_of({interval, timeout})).count();
    };
    EXPECT_EQ(silence(1, 29), 30);
    EXPECT_EQ(silence(10, 5), 30);
    EXPECT_EQ(silence(300, 60), 360);
    EXPECT_GT(silence(0, 60), 1e8);
}

TEST_F(ListenTest, PortsComeFromTheOptionsThenTheEnvironment) {
    ManagerOptions options;
    const auto ports = [&] {
        const auto range = api::ports_of(options, [this](const char* name) -> const char* {
            const auto found = variables_.find(name);
            return found == variables_.end() ? nullptr : found->second.c_str();
        });
        return range ? std::to_string(range->low) + "-" + std::to_string(range->high) : range.error().message;
    };
    EXPECT_EQ(ports(), "9123-9123");
    options.port = -1;
    std::set<std::string> ranges;
    for (int turn = 0; turn < 20; ++turn) ranges.insert(ports());
    EXPECT_GT(ranges.size(), 1u);
    EXPECT_THAT(ranges, Each(::testing::MatchesRegex("[0-9]+-32767")));
    variables_["TCP_HIGH_PORT"] = "2000";
    EXPECT_EQ(ports(), "1024-2000");
    variables_["TCP_LOW_PORT"] = "5000";
    variables_["TCP_HIGH_PORT"] = "5010";
    EXPECT_EQ(ports(), "5000-5010");
    variables_["WORK_QUEUE_LOW_PORT"] = "5005";
    EXPECT_EQ(ports(), "5005-5010");
    variables_["WORK_QUEUE_PORT"] = "7000";
    EXPECT_EQ(ports(), "7000-7000");
    options.port_range = std::pair{8000, 8001};
    EXPECT_EQ(ports(), "8000-8001");
    options.port_range = std::pair{8001, 8000};
    EXPECT_THAT(ports(), HasSubstr("not a range"));
    options.port_range.reset();
    variables_["WORK_QUEUE_PORT"] = "port";
    EXPECT_THAT(ports(), HasSubstr("WORK_QUEUE_PORT"));
}

}  // namespace
}  // namespace wq
