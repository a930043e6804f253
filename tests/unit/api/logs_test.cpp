// The logs that a program asks for.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/listening.h"
#include "transport/tcp_dialer.h"
#include "transport/tls_identity.h"
#include "unit/api/program_fixture.h"
#include "work_queue/manager.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::ProgramTest;

class LogsTest : public ProgramTest {
  protected:
    LogsTest() {
        std::string name = (std::filesystem::temp_directory_path() / "wq-logs-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~LogsTest() override { std::filesystem::remove_all(folder_); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::vector<std::string> lines(const std::string& name) const {
        std::ifstream in(path(name));
        std::vector<std::string> all;
        for (std::string line; std::getline(in, line);) all.push_back(line);
        return all;
    }
    std::filesystem::path folder_;
};

// As `grep 'TASK \<1\>'` of the manual shows it, with the numbers that differ taken out.
TEST_F(LogsTest, TransactionsTellTheLifeOfATask) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    add_worker({}, [](const wire::Lease&, wire::Ended& ended) { ended.outcome.wall_us = 123137485; }).begin();
    submit(Task("a").cores(1).memory(800).disk(500));
    submit(Task("b"));
    while (wait()) {
    }
    submit(Task("never").cores(99));
    ASSERT_TRUE(program_->cancel(3));
    program_.reset();
    std::vector<std::string> first;
    std::vector<std::string> third;
    for (const std::string& line : lines("tr.log")) {
        const std::string text = line.substr(line.find(' ', line.find(' ') + 1) + 1);  // less time and pid
        if (text.starts_with("TASK 1 ")) first.push_back(text);
        if (text.starts_with("TASK 3 ")) third.push_back(text);
    }
    ASSERT_EQ(first.size(), 5U);
    EXPECT_EQ(first[0],
              "TASK 1 WAITING default FIRST_RESOURCES "
              R"({"cores":[1,"cores"],"memory":[800,"MB"],"disk":[500,"MB"]})");
    EXPECT_EQ(first[1],
              "TASK 1 RUNNING host:rank_1 FIRST_RESOURCES "
              R"({"cores":[1,"cores"],"memory":[800,"MB"],"disk":[500,"MB"]})");
    EXPECT_EQ(first[2], "TASK 1 WAITING_RETRIEVAL host:rank_1");
    EXPECT_THAT(
        first[3],
        HasSubstr(R"(TASK 1 RETRIEVED SUCCESS 0 {} {"cores":[1,"cores"],"wall_time":[123.137485,"s"])"));
    EXPECT_THAT(first[4],
                HasSubstr(R"(TASK 1 DONE SUCCESS 0 {} {"cores":[1,"cores"],"wall_time":[123.137485,"s"])"));
    EXPECT_THAT(third, ElementsAre(R"(TASK 3 WAITING default FIRST_RESOURCES {"cores":[99,"cores"]})",
                                   "TASK 3 CANCELED"));
    const auto all = lines("tr.log");
    EXPECT_THAT(all, ::testing::Contains(HasSubstr(" CATEGORY default FIRST FIXED {}")));
    EXPECT_THAT(all.back(), HasSubstr("MANAGER END"));
}

TEST_F(LogsTest, StatisticsAreATextOfColumnsOrHdf5ByTheName) {
    for (const char* name : {"stats.log", "stats.h5"}) {
        workers_.clear();
        api::ProgramManagerOptions options;
        options.logs.statistics = path(name);
        start(0, std::move(options));
        submit(Task("a"));
        program_.reset();
        EXPECT_GT(std::filesystem::file_size(path(name)), 0U);
    }
    const auto text = lines("stats.log");
    ASSERT_GE(text.size(), 2U);
    EXPECT_THAT(text[0], HasSubstr("# timestamp workers_connected workers_init"));
    std::ifstream h5(path("stats.h5"), std::ios::binary);
    std::string magic(4, '\0');
    h5.read(magic.data(), 4);
    EXPECT_EQ(magic, "\x89HDF");
}

TEST_F(LogsTest, OneThatCannotBeBegunIsAFileThatCannotBeUsed) {
    for (std::string ManagerOptions::*const log :
         {&ManagerOptions::transactions_log, &ManagerOptions::stats_log, &ManagerOptions::debug_log}) {
        ManagerOptions options;
        options.port = 0;
        options.password = "p";
        options.*log = path("nowhere/log") + (log == &ManagerOptions::stats_log ? ".h5" : "");
        try {
            const Manager manager(options);
            ADD_FAILURE() << options.*log << " was opened";
        } catch (const SetupError& error) {
            EXPECT_EQ(error.exit_code(), 65);
            EXPECT_THAT(error.what(), EndsWith("No such file or directory"));
        }
    }
}

TEST_F(LogsTest, TheDebugLogIsRotatedAndRefusesUnknownSubsystems) {
    auto log = stats::DebugLog::open({path("d.log"), "tcp,wq", 200, "test"});
    ASSERT_TRUE(log);
    EXPECT_TRUE((*log)->wants("tcp"));
    EXPECT_FALSE((*log)->wants("task"));
    for (int i = 0; i < 10; ++i) (*log)->write("wq", "line\n" + std::to_string(i));
    EXPECT_TRUE(std::filesystem::exists(path("d.log.old")));
    EXPECT_LE(std::filesystem::file_size(path("d.log")), 200U);
    EXPECT_THAT(lines("d.log").back(), HasSubstr("] wq: line 9"));
    const auto refused = stats::DebugLog::open({path("d.log"), "nonsense", 0, "test"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("nonsense"));
}

// A line less the time and the program, with ports taken out.
std::string tale_of(const std::string& line) {
    std::string tale = line.substr(line.find("] ") + 2);
    const std::string host = "127.0.0.1:";
    if (const auto at = tale.find(host); at != std::string::npos) {
        const auto end = std::min(tale.find_first_not_of("0123456789", at + host.size()), tale.size());
        tale.replace(at + host.size(), end - at - host.size(), "PORT");
    }
    return tale;
}

// Says what no worker says, and waits for the end.
void knock_as_a_browser(std::uint16_t port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_GT(::send(descriptor, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
    char bytes[4096];
    while (::recv(descriptor, bytes, sizeof bytes, 0) > 0) {
    }
    ::close(descriptor);
}

TEST_F(LogsTest, TheDebugLogTellsWhoCameByWhichMeansAndWhyConnectionsEnded) {
    transport::TcpListenOptions listening;
    listening.bind = {"127.0.0.1"};
    listening.key = "right";
    listening.tls = transport::make_identity().or_throw();
    auto listener = transport::TcpListener::open(std::move(listening)).or_throw();
    transport::TcpDialOptions dialing;
    dialing.managers = {{"127.0.0.1", listener->port()}};
    dialing.tls = transport::TlsTrust{transport::TlsTrust::By::print, listener->certificate_print()};
    const std::uint16_t port = listener->port();
    api::ProgramManagerOptions options;
    options.logs.debug = path("d.log");
    options.logs.debug_flags = "tcp auth";
    options.wires.push_back({std::move(listener), true});
    start(0, std::move(options));

    knock_as_a_browser(port);
    for (const char* key : {"wrong", "right"}) {
        dialing.key = key;
        const auto dialer = transport::TcpDialer::open(dialing).or_throw();
        std::vector<transport::Arrival> inbox;
        while (!dialer->poll(inbox)) {
            pollfd entry{dialer->descriptors().front(), POLLIN, 0};
            ASSERT_GT(::poll(&entry, 1, 60'000), 0);
        }
        EXPECT_EQ(std::holds_alternative<transport::Joined>(inbox.front()), key == std::string("right"));
    }
    // Asking makes it turn; the log follows on a thread of its own.
    const Instant limit = instant_now() + std::chrono::seconds(60);
    while (lines("d.log").size() < 7 && instant_now() < limit) program_->stats();
    program_.reset();
    std::vector<std::string> tales;
    for (const std::string& line : lines("d.log")) tales.push_back(tale_of(line));
    EXPECT_THAT(
        tales,
        ElementsAre("tcp: 127.0.0.1:PORT connected",
                    "auth: 127.0.0.1:PORT refused: it speaks without TLS, this manager with it",
                    "tcp: 127.0.0.1:PORT connected",
                    "auth: 127.0.0.1:PORT refused: the worker has another key, or somebody sits between "
                    "the two ends",
                    "tcp: 127.0.0.1:PORT connected", "auth: 127.0.0.1:PORT accepted: TLS 1.3, key",
                    "tcp: 127.0.0.1:PORT cut: it closed the connection"));
}

TEST_F(LogsTest, ALogThatCannotBeWrittenSaysSoOnce) {
    api::ProgramManagerOptions options;
    options.logs.debug = "/dev/full";
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    add_worker().begin();
    for (int i = 0; i < 3; ++i) {
        submit(Task("a"));
        wait();
    }
    program_.reset();
    EXPECT_EQ(said(),
              "debug log /dev/full cannot be written: No space left on device; lines of it are missing\n");
    EXPECT_THAT(lines("tr.log").back(), HasSubstr("MANAGER END")) << "the others go on";
}

TEST_F(LogsTest, ADebugLogThatWasRotatedWithoutADescriptorGoesOnLater) {
    const auto log = stats::DebugLog::open({path("d.log"), "all", 100, "test"}).or_throw();
    log->write("wq", std::string(90, 'a'));
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{0, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    log->write("wq", "lost");
    log->write("wq", "lost too");
    setrlimit(RLIMIT_NOFILE, &limit);
    log->write("wq", "here again");
    const auto trouble = log->take_trouble();
    ASSERT_TRUE(trouble);
    EXPECT_THAT(trouble->message, HasSubstr("Too many open files; lines of it are missing"));
    EXPECT_FALSE(log->take_trouble());
    ASSERT_EQ(lines("d.log").size(), 1U);
    EXPECT_THAT(lines("d.log")[0], HasSubstr("here again"));
}

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

TEST_F(ListenTest, AnOpenManagerWarnsOnceAndNamesTheCure) {
    ManagerOptions options;
    options.port = 0;
    const auto open = listen(options);
    ASSERT_TRUE(open) << open.error().message;
    EXPECT_GE(open->port, 1024);
    ASSERT_EQ(said_.size(), 1U);
    EXPECT_THAT(said_[0], HasSubstr("contact_file"));
    EXPECT_THAT(said_[0], HasSubstr(std::to_string(open->port)));
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
    EXPECT_TRUE(listen(options));
    EXPECT_TRUE(said_.empty());
}

TEST_F(ListenTest, APortInUseAndAnEmptyPasswordAreRefused) {
    ManagerOptions options;
    options.port = 0;
    options.password = "secret";
    const auto first = listen(options);
    ASSERT_TRUE(first);
    options.port = first->port;
    const auto second = listen(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::unreachable);
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(first->port)));
    std::ofstream(path("empty")).close();
    options.port = 0;
    options.password.clear();
    options.password_file = path("empty");
    const auto empty = listen(options);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().code, ExitCode::bad_input);
}

TEST(KeepAlive, IsNoSoonerThanWorkersSpeak) {
    transport::TcpLimits limits;
    const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
    api::set_keep_alive(limits, {10, 20});
    EXPECT_EQ(seconds(limits.keep_alive), 10);
    EXPECT_EQ(seconds(limits.silence), 90);
    api::set_keep_alive(limits, {300, 60});
    EXPECT_EQ(seconds(limits.keep_alive), 30);
    EXPECT_EQ(seconds(limits.silence), 360);
    api::set_keep_alive(limits, {0, 60});
    EXPECT_GT(seconds(limits.silence), 1e8);
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
    EXPECT_EQ(ports(), "1024-32767");
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
    EXPECT_THAT(ports(), HasSubstr("no range"));
    options.port_range.reset();
    variables_["WORK_QUEUE_PORT"] = "port";
    EXPECT_THAT(ports(), HasSubstr("WORK_QUEUE_PORT"));
}

}  // namespace
}  // namespace wq
