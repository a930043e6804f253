// The logs that a program asks for.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/listening.h"
#include "net/frames/tcp_dialer.h"
#include "net/frames/tls_identity.h"
#include "records/hdf5/h5_reader.h"
#include "records/logs/statistics_file.h"
#include "unit/api/logs_fixture.h"
#include "work_queue/manager.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::FakeWorker;
using ::testing::HasSubstr;
using testing::LogsTest;

// As `grep 'TASK \<1\>'` of the manual shows it, with the numbers that differ taken out.
TEST_F(LogsTest, TransactionsTellTheLifeOfATask) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    add_worker({}, [](const net::messages::Lease&, net::messages::Ended& ended) {
        ended.outcome.wall_us = 123137485;
    }).begin();
    submit(Task("a").cores(1).memory(800).disk(500));
    submit(Task("b").category("big"));
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
              R"({"cores":[1,"cores"],"memory":[1024,"MB"],"disk":[1024,"MB"]})")
        << "a quarter of the worker";
    EXPECT_EQ(first[2], "TASK 1 WAITING_RETRIEVAL host:rank_1");
    EXPECT_THAT(
        first[3],
        HasSubstr(R"(TASK 1 RETRIEVED SUCCESS 0 {} {"cores":[1,"cores"],"wall_time":[123.137485,"s"])"));
    EXPECT_THAT(first[4],
                HasSubstr(R"(TASK 1 DONE SUCCESS 0 {} {"cores":[1,"cores"],"wall_time":[123.137485,"s"])"));
    EXPECT_THAT(third, ElementsAre(R"(TASK 3 WAITING default FIRST_RESOURCES {"cores":[99,"cores"]})",
                                   "TASK 3 CANCELED"));
    const auto all = lines("tr.log");
    for (const std::string category : {"default", "big"})
        EXPECT_THAT(all, ::testing::Contains(HasSubstr(" CATEGORY " + category + " FIRST FIXED {}")));
    EXPECT_THAT(all.back(), HasSubstr("MANAGER END"));
}

TEST_F(LogsTest, WhatATaskAsksForIsToldWithWhatItsCategorySays) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    engine::model::CategorySet big;
    big.max = engine::model::Sizes{.cores = 2000, .memory_mb = 1024};
    program_->set_category("big", big);
    submit(Task("a").category("big"));
    submit(Task("b").category("big").cores(1).disk(5));
    ASSERT_TRUE(program_->cancel(1));
    ASSERT_TRUE(program_->cancel(2));
    program_.reset();
    std::vector<std::string> waiting;
    for (const std::string& line : lines("tr.log"))
        if (line.front() != '#' && line.find(" WAITING ") != std::string::npos)
            waiting.push_back(line.substr(line.find(" TASK ")));
    EXPECT_THAT(
        waiting,
        ElementsAre(R"( TASK 1 WAITING big FIRST_RESOURCES {"cores":[2,"cores"],"memory":[1024,"MB"]})",
                    R"( TASK 2 WAITING big FIRST_RESOURCES {"cores":[1,"cores"],"memory":[1024,"MB"],)"
                    R"("disk":[5,"MB"]})"));
}

// Each line of a task less time, pid and what stands in braces.
TEST_F(LogsTest, ATaskThatGoesBackWaitsAgain) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(2, std::move(options));
    FakeWorker& first = add_worker({1, "one", 1});
    submit(Task("a"));
    first.wait_for_leases(1);
    workers_.clear();  // it is lost with its task
    add_worker({2, "two", 1}).begin();
    ASSERT_TRUE(wait());
    program_.reset();
    std::vector<std::string> life;
    for (const std::string& line : lines("tr.log"))
        if (const auto at = line.find("TASK 1 "); at != std::string::npos && !line.starts_with("#"))
            life.push_back(line.substr(at, line.find('{') - at));
    EXPECT_THAT(
        life,
        ElementsAre("TASK 1 WAITING default FIRST_RESOURCES ", "TASK 1 RUNNING one:rank_1 FIRST_RESOURCES ",
                    "TASK 1 WAITING default FIRST_RESOURCES ", "TASK 1 RUNNING two:rank_2 FIRST_RESOURCES ",
                    "TASK 1 WAITING_RETRIEVAL two:rank_2", "TASK 1 RETRIEVED SUCCESS 0 ",
                    "TASK 1 DONE SUCCESS 0 "));
}

TEST_F(LogsTest, WorkersThatAreThereAtTheEndLeaveBeforeIt) {
    for (const char* statistics : {"x.h5", ""}) {
        workers_.clear();
        api::ProgramManagerOptions options;
        options.logs.transactions = path("tr.log");
        if (*statistics != '\0') options.logs.statistics = path(statistics);
        start(1, std::move(options));
        add_worker({1, "host", 1, {"function:f"}}).begin();
        submit(Task("a"));
        submit(Task::range("f", 0, 10).cores(1));
        while (wait()) {
        }
        program_.reset();
        const auto all = lines("tr.log");
        EXPECT_THAT(all[all.size() - 2], HasSubstr(" WORKER worker-1 host:rank_1 DISCONNECTION EXPLICIT"));
        EXPECT_THAT(all.back(), HasSubstr(" MANAGER END"));
    }
    const auto workers = records::hdf5::StatsReader::open(path("x.h5")).or_throw().workers().or_throw();
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0].tasks_done, 11U);
    EXPECT_GT(workers[0].left, workers[0].joined);
    EXPECT_EQ(workers[0].why_left.view(), "the run is over");
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

// However many they are: what is logged of a range grows with its failures and the seconds that it takes.
TEST_F(LogsTest, CallsOfARangeAreLoggedTogetherAndThoseThatFailByThemselves) {
    constexpr std::int64_t calls = 5000;
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    options.logs.statistics = path("x.h5");
    options.logs.debug = path("d.log");
    options.logs.debug_flags = "task";
    start(1, std::move(options));
    const auto answer = [](const net::messages::Lease& lease, net::messages::Ended& ended) {
        ended.outcome.exit_code = lease.task == TaskId(41) ? 1 : 0;
        ended.outcome.wall_us = 10;
    };
    add_worker({1, "host", 4, {"function:f"}}, answer).begin();
    submit(Task::range("f", 0, calls).cores(1));
    while (wait()) {
    }
    program_.reset();

    std::vector<std::string> of_the_failed;
    std::int64_t told = 0;
    std::size_t tasks = 0;
    for (const std::string& line : lines("tr.log")) {
        if (line.starts_with("#")) continue;
        const std::string text = line.substr(line.find("TASK") == std::string::npos ? 0 : line.find("TASK"));
        if (!text.starts_with("TASK")) continue;
        ++tasks;
        if (text.starts_with("TASK 42 ")) of_the_failed.push_back(text.substr(0, text.find('{')));
        const auto count = text.find("\"tasks\":[");
        if (count != std::string::npos) told += std::stol(text.substr(count + 9));
        if (tasks > 1) continue;
        EXPECT_THAT(text, HasSubstr("TASK 1-5000 WAITING default FIRST_RESOURCES"));
    }
    EXPECT_EQ(told, calls - 1);
    EXPECT_LT(tasks, 200U) << "a line a second and worker";
    EXPECT_THAT(of_the_failed, ElementsAre("TASK 42 RUNNING host:rank_1 FIRST_RESOURCES ",
                                           "TASK 42 WAITING_RETRIEVAL host:rank_1",
                                           "TASK 42 RETRIEVED SUCCESS 1 ", "TASK 42 DONE SUCCESS 1 "));

    const auto rows = records::hdf5::StatsReader::open(path("x.h5")).or_throw().tasks().or_throw();
    EXPECT_LT(rows.size(), 200U);
    std::uint64_t succeeded = 0;
    std::int64_t wall_us = 0;
    for (const records::hdf5::TaskRow& row : rows) {
        if (row.exit_code == 0) succeeded += row.calls;
        wall_us += row.wall;
    }
    EXPECT_EQ(succeeded, static_cast<std::uint64_t>(calls) - 1);
    EXPECT_EQ(wall_us, 10 * calls);
    EXPECT_LT(lines("d.log").size(), 200U);
}

TEST_F(LogsTest, Hdf5OfAnEarlierRunIsMovedAside) {
    for (const char* run : {"first", "second", "third"}) {
        api::ProgramManagerOptions options;
        options.logs.statistics = path("x.h5");
        options.logs.program = run;
        start(0, std::move(options));
        program_.reset();
    }
    const auto run_of = [&](const char* name) {
        return records::hdf5::StatsReader::open(path(name)).or_throw().attribute("list");
    };
    EXPECT_EQ(run_of("x.h5.1"), "first");
    EXPECT_EQ(run_of("x.h5.2"), "second");
    EXPECT_EQ(run_of("x.h5"), "third");
    EXPECT_EQ(said(), path("x.h5") + " of an earlier run is now " + path("x.h5.1") + "\n" + path("x.h5") +
                          " of an earlier run is now " + path("x.h5.2") + "\n");
}

// As in /tmp: another user's file may be written there, and not renamed.
TEST_F(LogsTest, Hdf5ThatCannotBeMovedAsideStaysAsItIs) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root has files of two users";
    const auto begin = [&] {
        return records::logs::new_statistics_file(path("x.h5"), {}, [](const std::string&) {});
    };
    begin().or_throw();
    std::filesystem::permissions(path("x.h5"), std::filesystem::perms(0666));
    std::filesystem::permissions(folder_, std::filesystem::perms(01777));
    const auto size = std::filesystem::file_size(path("x.h5"));
    const pid_t other = ::fork();
    if (other == 0) {
        if (::setuid(65534) != 0) ::_exit(2);
        ::_exit(begin() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0) << "it was begun";
    EXPECT_EQ(std::filesystem::file_size(path("x.h5")), size);
    EXPECT_FALSE(std::filesystem::exists(path("x.h5.1")));
}

TEST_F(LogsTest, Hdf5TakesThePlaceOfNothingElse) {
    std::ofstream(path("x.h5")) << "notes of somebody";
    ManagerOptions options;
    options.listen = false;
    options.stats_log = path("x.h5");
    try {
        const Manager manager(options);
        ADD_FAILURE() << "it was written over";
    } catch (const SetupError& error) {
        EXPECT_EQ(error.exit_code(), 65);
        EXPECT_THAT(error.what(), HasSubstr("cannot write statistics to " + path("x.h5")));
    }
    EXPECT_THAT(lines("x.h5"), ElementsAre("notes of somebody"));
    std::ofstream(path("x.h5")).close();
    options.say = [](const std::string&) {};
    EXPECT_NO_THROW(const Manager manager(options)) << "a file without content is nobody's";
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
    auto log = records::journal::DebugLog::open({path("d.log"), "tcp,wq", 200, "test"});
    ASSERT_TRUE(log);
    EXPECT_TRUE((*log)->wants("tcp"));
    EXPECT_FALSE((*log)->wants("task"));
    for (int i = 0; i < 10; ++i) (*log)->write("wq", "line\n" + std::to_string(i));
    EXPECT_TRUE(std::filesystem::exists(path("d.log.old")));
    EXPECT_LE(std::filesystem::file_size(path("d.log")), 200U);
    EXPECT_THAT(lines("d.log").back(), HasSubstr("] wq: line 9"));
    const auto refused = records::journal::DebugLog::open({path("d.log"), "nonsense", 0, "test"});
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
    net::frames::TcpListenOptions listening;
    listening.bind = {"127.0.0.1"};
    listening.key = "right";
    listening.tls = net::frames::make_identity().or_throw();
    auto listener = net::frames::TcpListener::open(std::move(listening)).or_throw();
    net::frames::TcpDialOptions dialing;
    dialing.managers = {{"127.0.0.1", listener->port()}};
    dialing.tls = net::frames::TlsTrust{net::frames::TlsTrust::By::digest, listener->certificate_digest()};
    const std::uint16_t port = listener->port();
    api::ProgramManagerOptions options;
    options.logs.debug = path("d.log");
    options.logs.debug_flags = "tcp auth";
    options.wires.push_back({std::move(listener), true});
    start(0, std::move(options));

    knock_as_a_browser(port);
    for (const char* key : {"wrong", "right"}) {
        dialing.key = key;
        const auto dialer = net::frames::TcpDialer::open(dialing).or_throw();
        std::vector<net::frames::Arrival> inbox;
        while (!dialer->poll(inbox)) {
            pollfd entry{dialer->descriptors().front(), POLLIN, 0};
            ASSERT_GT(::poll(&entry, 1, 60'000), 0);
        }
        EXPECT_EQ(std::holds_alternative<net::frames::Joined>(inbox.front()), key == std::string("right"));
    }
    // Asking makes it turn; the log follows on a thread of its own.
    const Instant limit = instant_now() + std::chrono::seconds(60);
    while (lines("d.log").size() < 7 && instant_now() < limit) program_->stats();
    program_.reset();
    std::vector<std::string> tales;
    for (const std::string& line : lines("d.log")) tales.push_back(tale_of(line));
    EXPECT_THAT(tales,
                ElementsAre("tcp: 127.0.0.1:PORT connected",
                            "tcp: 127.0.0.1:PORT did not join: it asked by HTTP for something else",
                            "tcp: 127.0.0.1:PORT connected",
                            "auth: 127.0.0.1:PORT refused: the worker has a different key or password, or "
                            "somebody intercepts "
                            "the connection",
                            "tcp: 127.0.0.1:PORT connected", "auth: 127.0.0.1:PORT accepted: TLS 1.3, key",
                            "tcp: 127.0.0.1:PORT disconnected: it closed the connection"));
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
    EXPECT_EQ(
        said(),
        "debug log /dev/full cannot be written: No space left on device; some of its lines are missing\n");
    EXPECT_THAT(lines("tr.log").back(), HasSubstr("MANAGER END")) << "the others go on";
}

TEST_F(LogsTest, ADebugLogThatWasRotatedWithoutADescriptorGoesOnLater) {
    const auto log = records::journal::DebugLog::open({path("d.log"), "all", 100, "test"}).or_throw();
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
    EXPECT_THAT(trouble->message, HasSubstr("Too many open files; some of its lines are missing"));
    EXPECT_FALSE(log->take_trouble());
    ASSERT_EQ(lines("d.log").size(), 1U);
    EXPECT_THAT(lines("d.log")[0], HasSubstr("here again"));
}

}  // namespace
}  // namespace wq
