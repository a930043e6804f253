#include "functions/coprocess/runner.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "support/folder.h"

namespace wq::functions::coprocess {
namespace {

using engine::model::CallMode;
using engine::model::Ending;
using ::testing::AllOf;
using ::testing::HasSubstr;

// This program is also the host of the coprocesses that its tests start.
[[gnu::constructor]] void become_host_of_coprocesses(int argc, char** argv, char**) {
    node::process::host_commands_if_asked(argc, argv);
}

// A coprocess as CCTools' own: no secret, one process, no more than the protocol.
constexpr const char* plain = R"(
import json, os, signal, socket, sys, time
kept = None
HOST = os.path.dirname(os.getcwd()) + "/host"
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(5)
text = json.dumps({"name": "plain", "port": listener.getsockname()[1]})
print(f"{len(text) + 1}\n{text}", flush=True)
print("a function's output, which nobody reads " * 10000, flush=True)
while True:
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as reader:
        function, task, length = reader.readline().split()
        event = json.loads(reader.read(int(length)))
        assert os.path.isdir("t." + task.decode())
        if function == b"quit":
            sys.exit(3)
        if function == b"memory":
            block = b"x" * (100 << 20)
            listener.accept()
        if function == b"keep":
            kept = kept or b"x" * (100 << 20)
            until = time.monotonic() + 0.1
            while time.monotonic() < until:  # a short call
                pass
        if function == b"fill":
            with open(b"t." + task + b"/large", "wb") as large:
                large.write(b"x" * (8 << 20))
            listener.accept()
        if function == b"litter":
            for i in range(5000):
                open(b"t.%s/%d" % (task, i), "w").close()
        if function == b"talk":
            os.write(2, b"x" * (1 << 20))
        if function == b"begun":
            with open(HOST, "w") as file:
                file.write("running")
            listener.accept()
        if function == b"stop":  # as if the end of its processes took long
            with open(HOST, "w") as file:
                file.write(str(os.getppid()))
            os.kill(os.getppid(), signal.SIGSTOP)
            listener.accept()
        if function == b"silent":
            continue
        if function == b"stuck":
            reader.read()
            while True:
                listener.accept()
        answer = json.dumps({"Result": event["fn_args"], "StatusCode": 200}).encode()
        connection.sendall(b"%d\n" % len(answer) + answer)
)";

class CoprocessRunner : public ::testing::Test {
  protected:
    std::string file(const std::string& text, const std::string& name = "coprocess.py") {
        const std::string path = folder_.path() + "/" + name;
        std::ofstream(path) << text;
        return path;
    }
    void start(const std::string& path, std::int64_t count = 1) { start(path, count, {}); }
    void start(const std::string& path, std::int64_t count, PoolOptions options) {
        options.file = path;
        options.count = count;
        options.folder = folder_.path();
        options.first_back_off = std::chrono::milliseconds(1);
        auto started = Runner::start(options);
        ASSERT_TRUE(started) << started.error().message;
        runner_ = std::move(*started);
    }
    void run(std::uint64_t task, const std::string& function, Duration timeout = Duration{0},
             CallMode mode = CallMode::fork) {
        runner_->run({TaskId(task), 1, function, "{\"fn_args\": [1]}", mode, timeout, 0, ""});
    }
    // Until `count` more tasks have been reported.
    void wait_for(std::size_t count) {
        while (count > 0) {
            pollfd ready{runner_->descriptor(), POLLIN, 0};
            ASSERT_EQ(::poll(&ready, 1, 90'000), 1);
            for (RemoteReport& report : runner_->next()) {
                --count;
                if (auto* ended = std::get_if<node::launcher::TaskEnded>(&report))
                    ended_[ended->task.value()] = std::move(*ended);
                else
                    returned_.push_back(std::get<node::launcher::OrderReturned>(report).task.value());
            }
        }
    }
    node::launcher::TaskEnded end_of(std::uint64_t task, const std::string& function,
                                     Duration timeout = Duration{0}) {
        run(task, function, timeout);
        wait_for(1);
        return ended_[task];
    }

    test::Folder folder_;
    std::unique_ptr<Runner> runner_;
    std::map<std::uint64_t, node::launcher::TaskEnded> ended_;
    std::vector<std::uint64_t> returned_;
};

TEST_F(CoprocessRunner, RunsCoprocessesOfCctools) {
    start(file(plain));
    EXPECT_EQ(runner_->name(), "plain");
    for (std::uint64_t task = 0; task < 20; ++task) run(task, "echo");
    wait_for(20);
    for (const auto& [task, end] : ended_) {
        EXPECT_EQ(end.outcome.ending, Ending::exited) << end.outcome.reason;
        EXPECT_EQ(end.output.out, R"({"Result": [1], "StatusCode": 200})");
    }
}

TEST_F(CoprocessRunner, StartsAnewWhatEnds) {
    start(file(plain));
    const auto quit = end_of(1, "quit");
    EXPECT_EQ(quit.outcome.ending, Ending::raised);
    EXPECT_EQ(quit.outcome.exit_code, 3);
    EXPECT_THAT(quit.output.out, HasSubstr("\"StatusCode\":500"));
    const auto silent = end_of(2, "silent");
    EXPECT_EQ(silent.outcome.ending, Ending::raised);
    EXPECT_THAT(silent.outcome.reason, HasSubstr("without an answer"));
    const auto late = end_of(3, "stuck", std::chrono::milliseconds(100));
    EXPECT_EQ(late.outcome.ending, Ending::timed_out);
    EXPECT_EQ(end_of(4, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, RefusesWhatCannotBeSent) {
    start(file(plain));
    EXPECT_EQ(end_of(1, "a b").outcome.ending, Ending::not_started);
    EXPECT_EQ(end_of(2, "").outcome.ending, Ending::not_started);
    runner_->run({TaskId(3), 1, "echo", "no event", CallMode::fork, Duration{0}, 0, ""});
    wait_for(1);
    EXPECT_EQ(ended_[3].outcome.ending, Ending::not_started);
    EXPECT_EQ(end_of(4, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, EnforcesTheMemoryLimitOfATask) {
    start(file(plain));
    runner_->run({TaskId(1), 1, "memory", "{}", CallMode::fork, Duration{0}, 60, ""});
    wait_for(1);
    EXPECT_EQ(ended_[1].outcome.ending, Ending::out_of_memory);
    EXPECT_THAT(ended_[1].outcome.reason, HasSubstr("its limit is 60 MB"));
    ASSERT_TRUE(ended_[1].outcome.measured);
    EXPECT_EQ(ended_[1].outcome.measured->exceeded.memory_mb, 60);
    EXPECT_EQ(end_of(2, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, LooksAtShortCallsToo) {
    PoolOptions options;
    options.total = {0, 60, 0, 0};
    start(file(plain), 1, options);
    std::uint64_t task = 0;
    while (++task < 100 && end_of(task, "keep").outcome.ending == Ending::exited) continue;
    EXPECT_EQ(ended_[task].outcome.ending, Ending::out_of_memory);
    EXPECT_EQ(end_of(101, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, CountsTheFilesInTheSandbox) {
    PoolOptions options;
    options.total = {0, 0, 4, 0};
    start(file(plain), 1, options);
    const test::Folder sandbox;
    runner_->run({TaskId(1), 1, "fill", "{}", CallMode::fork, Duration{0}, 0, sandbox.path()});
    wait_for(1);
    EXPECT_EQ(ended_[1].outcome.ending, Ending::exhausted);
    EXPECT_THAT(ended_[1].outcome.reason, HasSubstr("MB disk, its share is 4 MB"));
}

TEST_F(CoprocessRunner, RemovesWhatFunctionsLeave) {
    start(file(plain));
    EXPECT_EQ(end_of(1, "litter").outcome.ending, Ending::exited);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
        EXPECT_FALSE(std::filesystem::exists(entry.path() / "t.1"));
    EXPECT_EQ(end_of(2, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, EmptiesWhatFunctionsHavePrinted) {
    start(file(plain));
    for (std::uint64_t task = 0; task < 20; ++task)
        EXPECT_EQ(end_of(task, "talk").outcome.ending, Ending::exited);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
        if (const auto file = entry.path() / "stderr"; std::filesystem::exists(file)) {
            EXPECT_LE(std::filesystem::file_size(file), 6u << 20);
        }
}

// The kernel notifies nobody of it but the parent.
void wait_until_stopped(pid_t process) {
    for (char state = 0; state != 'T'; ::poll(nullptr, 0, 1)) {
        std::ifstream file("/proc/" + std::to_string(process) + "/stat");
        std::string text;
        ASSERT_TRUE(std::getline(file, text)) << "it has ended";
        state = text.at(text.rfind(')') + 2);
    }
}

TEST_F(CoprocessRunner, GoesOnWhileOneEnds) {
    start(file(plain), 2);
    const std::string pipe = folder_.path() + "/host";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    run(1, "stop");
    pid_t host = 0;
    std::ifstream(pipe) >> host;
    ASSERT_GT(host, 0);
    wait_until_stopped(host);
    runner_->kill(TaskId(1), 1);
    for (std::uint64_t task = 2; task < 6; ++task)
        EXPECT_EQ(end_of(task, "echo").outcome.ending, Ending::exited);
    ::kill(host, SIGCONT);
    if (ended_.count(1) == 0) wait_for(1);
    EXPECT_EQ(ended_[1].outcome.ending, Ending::killed);
}

TEST_F(CoprocessRunner, KeepsACoprocessThatItCannotCall) {
    start(file(plain));
    EXPECT_EQ(end_of(1, "echo").outcome.ending, Ending::exited);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const auto refused = end_of(2, "echo");
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(refused.outcome.ending, Ending::not_started);
    EXPECT_THAT(refused.outcome.reason, HasSubstr("no connection to the coprocess"));
    EXPECT_EQ(end_of(3, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, ReturnsAndKills) {
    start(file(plain));
    const std::string pipe = folder_.path() + "/host";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    run(1, "begun");
    std::ifstream(pipe).get();  // it runs
    for (std::uint64_t task = 2; task < 6; ++task) run(task, "echo");
    EXPECT_EQ(runner_->recall(2), 2u);
    wait_for(2);
    EXPECT_EQ(returned_, (std::vector<std::uint64_t>{5, 4}));
    runner_->kill(TaskId(3), 1);
    wait_for(1);
    EXPECT_EQ(returned_.back(), 3u);
    runner_->kill(TaskId(1), 2);  // another attempt
    runner_->kill(TaskId(1), 1);
    wait_for(2);  // the killed, and then the last
    EXPECT_EQ(returned_.back(), 3u);
    EXPECT_EQ(ended_[1].outcome.ending, Ending::killed);
    EXPECT_EQ(ended_[2].outcome.ending, Ending::exited);
    run(6, "stuck");
    run(7, "stuck");
    runner_->kill_all();
    wait_for(2);
    EXPECT_EQ(end_of(8, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, ForgetsAllAtOnce) {
    start(file(plain), 2);
    for (std::uint64_t round = 0; round < 20; ++round) {
        for (std::uint64_t task = 0; task < 6; ++task) run(task, task % 2 == 0 ? "stuck" : "echo");
        runner_->forget();
    }
    ended_.clear();
    EXPECT_EQ(end_of(7, "echo").outcome.ending, Ending::exited);
    EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(CoprocessRunner, SaysWhyNothingCanBeStarted) {
    const auto why = [&](const std::string& text, Duration limit = std::chrono::seconds(60)) {
        PoolOptions options;
        options.file = file(text);
        options.folder = folder_.path();
        options.greeting_limit = limit;
        const auto started = Runner::start(options);
        return started ? "it started" : started.error().message;
    };
    EXPECT_THAT(why("import no_such_module"),
                AllOf(HasSubstr("ended with exit 1"), HasSubstr("No module named 'no_such_module'")));
    EXPECT_THAT(why("print('hello')"), HasSubstr("no length and JSON object"));
    EXPECT_THAT(why("print('3\\n{}')"), HasSubstr("its name must have"));
    EXPECT_THAT(why("import signal\nsignal.pause()", std::chrono::milliseconds(100)),
                HasSubstr("did not name itself within"));
}

TEST_F(CoprocessRunner, GivesUpWhatAlwaysFails) {
    start(file("import os\nif os.path.exists('" + folder_.path() +
               "/broken'):\n  raise SystemExit('broken')\n" + plain));
    std::ofstream(folder_.path() + "/broken");
    EXPECT_FALSE(runner_->given_up());
    run(1, "quit");
    run(2, "echo");
    wait_for(2);
    EXPECT_EQ(ended_[1].outcome.ending, Ending::raised);
    EXPECT_EQ(returned_, (std::vector<std::uint64_t>{2}));
    ASSERT_TRUE(runner_->given_up());
    EXPECT_THAT(*runner_->given_up(), AllOf(HasSubstr("failed 10 times in a row"), HasSubstr("broken")));
    run(3, "echo");
    wait_for(1);
    EXPECT_EQ(returned_.back(), 3u);
}

// The one with GPU "a" fails always.
TEST_F(CoprocessRunner, GoesOnWithoutOneThatAlwaysFails) {
    PoolOptions options;
    options.total.gpus = 2;
    options.gpu_variable = "CUDA_VISIBLE_DEVICES";
    options.gpus = {"a", "b"};
    start(file(std::string(
                   "import os\nif os.environ['CUDA_VISIBLE_DEVICES'] == 'a': raise SystemExit('broken')\n") +
               plain),
          2, options);
    std::string news;
    for (std::uint64_t task = 1; news.find("10 times in a row") == std::string::npos; ++task) {
        EXPECT_EQ(end_of(task, "echo").outcome.ending, Ending::exited);
        for (const std::string& one : runner_->take_news()) news += one + "\n";
    }
    EXPECT_THAT(news, HasSubstr("broken"));
    EXPECT_FALSE(runner_->given_up());
    EXPECT_EQ(end_of(0, "echo").outcome.ending, Ending::exited);
}

TEST_F(CoprocessRunner, GivesTheEnvironmentOfAShare) {
    PoolOptions options;
    options.count = 2;
    options.total = {3, 1000, 10, 4};
    options.gpu_variable = "CUDA_VISIBLE_DEVICES";
    options.gpus = {"a", "b", "c", "d"};
    char old[] = "CORES=64";
    char other[] = "CORES_OF_MINE=5";
    char rank[] = "OMPI_COMM_WORLD_RANK=3";
    char pmix[] = "PMIX_RANK=3";
    char order[] = "CUDA_DEVICE_ORDER=FASTEST_FIRST";
    char* const ours[] = {old, other, rank, pmix, order, nullptr};
    const auto second = environment_of(options, 1, ours);
    for (const char* const entry :
         {"CORES=1.5", "OMP_NUM_THREADS=1", "MEMORY=500", "DISK=5", "GPUS=2", "CUDA_VISIBLE_DEVICES=c,d",
          "GPUS_LIST=c,d", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "VECLIB_MAXIMUM_THREADS=1", "CORES_OF_MINE=5"})
        EXPECT_THAT(second, ::testing::Contains(entry));
    for (const char* const gone :
         {"CORES=64", "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3", "CUDA_DEVICE_ORDER=FASTEST_FIRST"})
        EXPECT_THAT(second, ::testing::Not(::testing::Contains(gone)));
    options.count = 8;
    EXPECT_THAT(environment_of(options, 7, ours), ::testing::Contains("CUDA_VISIBLE_DEVICES=d"));
    options.total.gpus = Count::of_thousandths(1500);
    options.count = 2;
    EXPECT_THAT(environment_of(options, 1, ours), ::testing::Contains("CUDA_VISIBLE_DEVICES=b"));
    options.total.gpus = 0;
    EXPECT_THAT(environment_of(options, 7, ours), ::testing::Contains("CUDA_VISIBLE_DEVICES="));
}

// Not with processes: on a busy machine they may get less than their share.
TEST(ShareWatch, AllowsTheShareOfCoresButAtLeastOne) {
    const Instant begin{};
    const auto used = [&](const engine::model::Resources& share, std::int64_t milliseconds) {
        ShareWatch watch(share, "/nowhere");
        EXPECT_FALSE(watch.judge_cpu(5'000'000, begin));
        EXPECT_FALSE(watch.judge_cpu(9'000'000, begin + std::chrono::milliseconds(500))) << "too short";
        return watch.judge_cpu(5'000'000 + milliseconds * 1000, begin + std::chrono::seconds(1));
    };
    EXPECT_FALSE(used({2, 0, 0, 0}, 2100));
    const auto more = used({2, 0, 0, 0}, 2600);
    ASSERT_TRUE(more);
    EXPECT_EQ(more->ending, Ending::exhausted);
    EXPECT_EQ(more->reason, "its coprocess used 2.6 cores, its limit is 2");
    EXPECT_EQ(more->measured.exceeded.cores, 2000);
    EXPECT_EQ(more->measured.usage.cores, 2600);
    EXPECT_FALSE(used({Count::of_thousandths(250), 0, 0, 0}, 1000));
    EXPECT_TRUE(used({Count::of_thousandths(250), 0, 0, 0}, 1300));
    EXPECT_FALSE(used({0, 0, 0, 0}, 9000)) << "no limit";
    ShareWatch watch({1, 0, 0, 0}, "/nowhere");
    EXPECT_FALSE(watch.judge_cpu(9'000'000, begin));
    EXPECT_FALSE(watch.judge_cpu(0, begin + std::chrono::seconds(1))) << "a process ended";
    watch.begin_call(0, "");  // a new call changes nothing
    EXPECT_TRUE(watch.judge_cpu(1'500'000, begin + std::chrono::seconds(2)));
}

TEST(EqualShare, DividesWhatThereIs) {
    const engine::model::Resources share = equal_share({4, 1000, 4, 0}, 4);
    EXPECT_EQ(share, (engine::model::Resources{1, 250, 1, 0, 1}));
    EXPECT_EQ(equal_share({1, 3, 0, 1}, 4),
              (engine::model::Resources{Count::of_thousandths(250), 1, 0, Count::of_thousandths(250), 1}));
}

}  // namespace
}  // namespace wq::functions::coprocess
