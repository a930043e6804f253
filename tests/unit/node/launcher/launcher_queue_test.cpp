// Which order starts when.
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(LauncherQueue, OrdersStartFirstComeFirstServed) {
    Session session(1);
    session.open();
    std::vector<std::uint64_t> given;
    for (std::uint64_t task = 0; task < 200; ++task) {
        given.push_back(task);
        session.launcher->run(words(task, {"/bin/true"}));
    }
    session.collect_ends(200);
    EXPECT_THAT(session.order_of_ends, ElementsAreArray(given));
}

TEST(LauncherQueue, AWideOrderAtTheHeadHoldsUpNarrowOnesBehindIt) {
    Session session(2);
    session.open();
    const std::string go = session.folder / "go";
    ASSERT_EQ(mkfifo(go.c_str(), 0600), 0);
    session.launcher->run(shell_line(1, "cat go >/dev/null; echo 1 >>log"));
    process::Order wide = shell_line(2, "echo 2 >>log");
    wide.give.cores = 2;
    session.launcher->run(wide);
    session.launcher->run(shell_line(3, "echo 3 >>log"));
    session.collect_until([&] { return !session.started.empty(); });
    EXPECT_THAT(session.started, ElementsAre(1));
    std::ofstream(go) << "go\n";
    session.collect_ends(3);
    EXPECT_EQ(read_file(session.folder / "log"), "1\n2\n3\n");
}

// A folder in which "go" holds up whoever reads it, on two cores and a GPU.
struct QueueForAGpu : testing::Test {
    QueueForAGpu() : session(2) {
        session.options.slice.gpus = {"0"};
        session.options.slice.gpu_variable = "CUDA_VISIBLE_DEVICES";
        session.open();
        EXPECT_EQ(mkfifo((session.folder / "go").c_str(), 0600), 0);
    }
    void run(std::uint64_t task, const engine::model::Resources& give, const std::string& text) {
        process::Order order = shell_line(task, text);
        order.give = give;
        session.launcher->run(order);
    }
    Session session;
};

TEST_F(QueueForAGpu, AHeadThatWaitsForAGpuHoldsUpNothingThatTakesNone) {
    run(1, {0, 0, 0, 1}, "cat go >/dev/null; echo 1 >>log");
    run(2, {0, 0, 0, 1}, "echo 2 >>log");
    run(3, {0, 0, 0, 1}, "echo 3 >>log");
    run(4, {2, 0, 0, 0}, "echo 4 >>log; echo >go");  // the first ends by it, or never
    session.collect_ends(4);
    EXPECT_EQ(read_file(session.folder / "log"), "4\n1\n2\n3\n");
}

TEST_F(QueueForAGpu, NothingGoesPastAHeadThatTakesWhatItHasFree) {
    run(1, {0, 0, 0, 1}, "cat go >/dev/null; echo 1 >>log");
    run(2, {2, 0, 0, 1}, "echo 2 >>log");
    run(3, {1, 0, 0, 0}, "echo 3 >>log");
    session.collect_until([&] { return !session.started.empty(); });
    EXPECT_THAT(session.started, ElementsAre(1));
    std::ofstream(session.folder / "go") << "go\n";
    session.collect_ends(3);
    EXPECT_EQ(read_file(session.folder / "log"), "1\n2\n3\n");
}

TEST(LauncherQueue, MemoryDiskAndGpusAreCounted) {
    for (const engine::model::Resources give :
         {engine::model::Resources{1, 600, 0, 0}, engine::model::Resources{1, 0, 600, 0},
          engine::model::Resources{0, 0, 0, 1}}) {
        Session session(8);
        session.options.slice.gpus = {"0"};
        session.options.slice.gpu_variable = "CUDA_VISIBLE_DEVICES";
        session.open();
        // Two at once would find each other's file.
        for (std::uint64_t task = 0; task < 10; ++task) {
            process::Order order = shell_line(task, "mkdir lock && sleep 0.01 && rmdir lock");
            order.give = give;
            session.launcher->run(order);
        }
        session.collect_ends(10);
        for (const auto& [task, end] : session.ended) EXPECT_TRUE(end.outcome.succeeded()) << end.output.err;
    }
}

TEST(LauncherQueue, AnOrderThatNeverFitsIsRefusedAndTheRestRuns) {
    Session session(2);
    session.open();
    process::Order big = shell_line(1, "true");
    big.give.cores = 3;
    const TaskEnded end = session.run(big);
    EXPECT_EQ(end.outcome.ending, engine::model::Ending::not_started);
    EXPECT_EQ(end.outcome.started_us, 0);
    EXPECT_TRUE(session.run(shell_line(2, "true")).outcome.succeeded());
}

TEST(LauncherQueue, RecallReturnsTheLastThatHaveNotStarted) {
    Session session(1);
    session.open();
    const std::string go = session.folder / "go";
    ASSERT_EQ(mkfifo(go.c_str(), 0600), 0);
    session.launcher->run(shell_line(0, "cat go"));
    for (std::uint64_t task = 1; task < 6; ++task) session.launcher->run(shell_line(task, "true"));
    session.collect_until([&] { return !session.started.empty(); });
    session.launcher->recall(2);
    session.collect_until([&] { return session.returned.size() == 2; });
    EXPECT_THAT(session.returned, ElementsAre(5, 4));
    session.launcher->recall(100);
    session.collect_until([&] { return session.returned.size() == 5; });
    std::ofstream(go) << "go\n";
    session.collect_ends(1);
    EXPECT_THAT(session.order_of_ends, ElementsAre(0));
}

TEST(LauncherQueue, TenThousandOrdersAtOnceAllEnd) {
    Session session(2);
    session.open();
    for (std::uint64_t task = 0; task < 10000; ++task)
        session.launcher->run(words(task, {task % 100 == 0 ? "/bin/true" : "/no/such/file"}));
    session.collect_ends(10000);
    EXPECT_EQ(session.ended.size(), 10000U);
}

TEST(LauncherQueue, OutputThatTheRankDoesNotReadHoldsUpNothingThatRuns) {
    Session session(2);
    session.options.output_limit = 8u << 20;
    session.open();
    for (std::uint64_t task = 0; task < 40; ++task)
        session.launcher->run(shell_line(task, "head -c 6000000 /dev/zero; touch done$WORK_QUEUE_TASK_ID"));
    session.launcher->next();  // sends the orders, reads nothing yet
    // 64 MiB may wait in the launcher: the first ten run although nobody reads.
    while (!std::filesystem::exists(session.folder / "done9")) sched_yield();
    session.collect_ends(40);
    for (const auto& [task, end] : session.ended) EXPECT_EQ(end.output.out.size(), 6000000U);
}

enum Fate { ran, refused, failed, unanswered, no_launcher };

// In a process that may open so many descriptors, and its launcher with it: what becomes of an order.
Fate fate_with_descriptors(rlim_t count, bool environment_line) {
    const rlimit limit{count, count};
    auto launcher = setrlimit(RLIMIT_NOFILE, &limit) == 0 ? Launcher::start() : Error{};
    LauncherOptions options;
    options.slice = slice_of(1);
    options.shell = "/bin/sh";
    options.environment_lines = environment_line;
    if (!launcher || !(*launcher)->open(options)) return no_launcher;
    process::Order order = words(1, {"/bin/true"});
    if (environment_line) {
        (*launcher)->environment({1, "x=1"});
        order = shell_line(1, "test $x = 1");
        order.environment_position = 1;
    }
    (*launcher)->run(std::move(order));
    for (;;) {
        pollfd ready{(*launcher)->descriptor(), POLLIN, 0};
        if (poll(&ready, 1, patience_ms) == 0) return unanswered;
        for (const Report& report : (*launcher)->next()) {
            if (std::holds_alternative<LauncherDied>(report)) return no_launcher;
            const auto* end = std::get_if<TaskEnded>(&report);
            if (end == nullptr) continue;
            if (end->outcome.succeeded()) return ran;
            return end->outcome.reason.find("ulimit -n") != std::string::npos ? refused : failed;
        }
    }
}

// How often each fate comes as there are ever more descriptors.
std::map<Fate, int> fates(bool environment_line) {
    std::map<Fate, int> fates;
    for (rlim_t count = 4; count < 28; ++count) {
        const pid_t child = fork();
        if (child == 0) {
            for (int descriptor = 3; descriptor < 1024; ++descriptor) ::close(descriptor);
            _exit(fate_with_descriptors(count, environment_line));
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        ++fates[static_cast<Fate>(WEXITSTATUS(status))];
    }
    return fates;
}

TEST(LauncherQueue, AnOrderForWhichNoPipeCanBeMadeIsRefused) {
    for (const bool environment_line : {false, true}) {
        std::map<Fate, int> seen = fates(environment_line);
        EXPECT_GT(seen[ran], 0);
        EXPECT_GT(seen[refused], 0);
        EXPECT_EQ(seen[unanswered], 0);
    }
}

}  // namespace
}  // namespace wq::node::launcher::test
