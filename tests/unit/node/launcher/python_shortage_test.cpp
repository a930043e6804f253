// Calls of Python functions while no process can be forked for them, or no descriptor is left: they wait for
// the end of another task, or say what is short, and run once there is enough again.
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "unit/node/launcher/launcher_support.h"
#include "unit/node/launcher/python_orders.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using testing::HasSubstr;

// Fewer descriptors than an interpreter has, but enough for its poll(); and fewer processes than its user has
// here: launcher, interpreter, and the processes that wait for calls or run tasks.
constexpr rlim_t few = 4;

// A soft limit of a process, while it lives.
class Limited {
  public:
    Limited(pid_t pid, __rlimit_resource which, rlim_t most) : pid_(pid), which_(which) {
        EXPECT_EQ(prlimit(pid_, which_, nullptr, &before_), 0);
        const rlimit few{most, before_.rlim_max};
        EXPECT_EQ(prlimit(pid_, which_, &few, nullptr), 0);
    }
    ~Limited() { EXPECT_EQ(prlimit(pid_, which_, &before_, nullptr), 0); }
    Limited(const Limited&) = delete;
    Limited& operator=(const Limited&) = delete;

  private:
    pid_t pid_;
    __rlimit_resource which_;
    rlimit before_{};
};

// The words of /proc/PID/stat after the name, from the state on.
std::vector<std::string> stat_of(pid_t pid) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream rest(text.substr(text.rfind(')') + 2));
    return {std::istream_iterator<std::string>(rest), {}};
}
long ticks_of(pid_t pid) {
    const std::vector<std::string> stat = stat_of(pid);
    return std::stol(stat.at(11)) + std::stol(stat.at(12));
}

// It runs in a process of its own, after which no other call runs: each needs a new one, and none is forked
// before it is needed.
process::Order unclean(std::uint64_t task) {
    return evaluation(task, "'<%d> of %d' % (__import__('os').nice(1), __import__('os').getppid())",
                      "direct");
}

class PythonShortage {
  public:
    PythonShortage() {
        session.open();
        const std::string result = session.run(unclean(1)).output.result;
        const std::size_t digits = result.find("> of ");
        EXPECT_NE(digits, std::string::npos) << result;
        if (digits == std::string::npos) return;
        interpreter = std::stoi(result.substr(digits + 5));
        launcher = std::stoi(stat_of(interpreter).at(1));
    }

    // A call that needs a process cannot have one: alone, it says why, and the next one runs.
    void is_told(__rlimit_resource which, const std::string& why) {
        if (interpreter <= 0) return;
        {
            const Limited limited(interpreter, which, few);
            const TaskEnded end = session.run(unclean(2));
            EXPECT_EQ(end.outcome.ending, Ending::not_started);
            EXPECT_THAT(end.outcome.reason, HasSubstr("no process can be forked for it: "));
            EXPECT_THAT(end.outcome.reason, HasSubstr(why));
        }
        expect_result(3);
    }

    // Beside another task, calls wait for its end, and nothing is busy meanwhile.
    void waits(__rlimit_resource which) {
        if (interpreter <= 0) return;
        const std::string pipe = session.folder / "pipe";
        ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
        session.launcher->run(shell_line(2, "read word < '" + pipe + "'"));
        session.collect_until([&] { return testing::Value(session.started, testing::Contains(2)); });
        {
            const Limited limited(interpreter, which, few);
            wait_until([&] { return stat_of(interpreter).at(0) == "S"; });
            const std::string before = read_switches();
            for (std::uint64_t task = 3; task <= 5; ++task) session.launcher->run(unclean(task));
            wait_until([&] { return read_switches() != before; });  // it tries
            const long busy = ticks_of(interpreter) + ticks_of(launcher);
            none_ends(300);
            EXPECT_LT(ticks_of(interpreter) + ticks_of(launcher) - busy, sysconf(_SC_CLK_TCK) / 5);
        }
        if (testing::Test::HasFatalFailure()) return;
        std::ofstream(pipe) << "word\n";
        session.collect_ends(5);
        EXPECT_EQ(session.order_of_ends.size(), 5u);
        EXPECT_EQ(session.order_of_ends.at(1), 2u) << "they waited for its end";
        for (std::uint64_t task = 3; task <= 5; ++task) expect_result_of(session.ended[task]);
    }

    void expect_result(std::uint64_t task) { expect_result_of(session.run(unclean(task))); }
    static void expect_result_of(const TaskEnded& end) {
        EXPECT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
        EXPECT_THAT(end.output.result, HasSubstr("> of "));
    }

    Session session{4};
    pid_t interpreter = 0;
    pid_t launcher = 0;

  private:
    // How often it began to wait.
    std::string read_switches() const {
        const std::string text = read_file("/proc/" + std::to_string(interpreter) + "/status");
        return text.substr(text.find("voluntary_ctxt_switches"), 40);
    }
    // Meanwhile tasks may be said to have started; none ends.
    void none_ends(int milliseconds) {
        pollfd ready{session.launcher->descriptor(), POLLIN, 0};
        if (poll(&ready, 1, milliseconds) > 0)
            for (Report& report : session.launcher->next()) session.take(report);
        ASSERT_EQ(session.ended.size(), 1u);
    }
    // Until it holds, which it does soon.
    void wait_until(const std::function<bool()>& holds) {
        const Instant end = instant_now() + std::chrono::milliseconds(patience_ms);
        while (!holds()) {
            none_ends(1);
            ASSERT_LT(instant_now(), end);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
};

// The number of a user's processes is limited for users other than root only.
void as_another_user(void (*what)(PythonShortage& shortage)) {
    if (geteuid() == 0) {
        ASSERT_EQ(setgroups(0, nullptr), 0);
        ASSERT_EQ(setresgid(61357, 61357, 61357), 0);
        ASSERT_EQ(setresuid(61357, 61357, 61357), 0);
        ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);  // else its tasks may not open its descriptors
    }
    {
        PythonShortage shortage;
        what(shortage);
    }
    std::fflush(nullptr);  // what failed
}

class ShortageOfPython : public ::testing::Test {
  protected:
    void SetUp() override {
        if (python_version().empty()) GTEST_SKIP() << "SKIP: no python3 in PATH";
    }
};

TEST_F(ShortageOfPython, OfDescriptorsOfTheInterpreterIsTold) {
    PythonShortage().is_told(RLIMIT_NOFILE, "Too many open files");
}

TEST_F(ShortageOfPython, OfDescriptorsOfTheInterpreterPasses) {
    PythonShortage().waits(RLIMIT_NOFILE);
}

// In a process of its own, whose user is another one.
TEST_F(ShortageOfPython, OfProcessesIsTold) {
    EXPECT_EXIT(
        {
            as_another_user([](PythonShortage& s) { s.is_told(RLIMIT_NPROC, "temporarily unavailable"); });
            _exit(HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(ShortageOfPython, OfProcessesPasses) {
    EXPECT_EXIT(
        {
            as_another_user([](PythonShortage& s) { s.waits(RLIMIT_NPROC); });
            _exit(HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

// With each limit from none to enough, a call runs or says what is short: one descriptor less than enough is
// that of its process's socket.
TEST_F(ShortageOfPython, OfDescriptorsOfTheLauncherIsTold) {
    PythonShortage shortage;
    ASSERT_GT(shortage.launcher, 0);
    std::uint64_t task = 1;
    bool socket_was_short = false;
    for (rlim_t most = 0;; ++most) {
        ASSERT_LT(most, 200u) << shortage.session.ended[task].outcome.reason;
        const Limited limited(shortage.launcher, RLIMIT_NOFILE, most);
        const TaskEnded end = shortage.session.run(unclean(++task));
        ASSERT_FALSE(shortage.session.died);
        if (end.outcome.succeeded()) break;
        EXPECT_EQ(end.outcome.ending, Ending::not_started);
        EXPECT_THAT(end.outcome.reason, testing::AnyOf(HasSubstr("ulimit -n"), HasSubstr("no descriptor"),
                                                       HasSubstr("Too many open files")));
        if (end.outcome.reason.find("no descriptor is left for its process") != std::string::npos)
            socket_was_short = true;
    }
    EXPECT_TRUE(socket_was_short);
    shortage.expect_result(++task);
}

}  // namespace
}  // namespace wq::node::launcher::test
