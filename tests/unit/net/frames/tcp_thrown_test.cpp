// What the system refuses (descriptors, threads, memory) costs one link, or is an error value for the caller.
// Each test has its own process, since limits are per process.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>

#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;

// Returns its exit code.
int thrown_in_child(const std::function<int()>& run) {
    const pid_t pid = fork();
    if (pid == 0) _exit(run());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// From here on this process gets only this many more descriptors.
void leave_descriptors(rlim_t more) {
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next) + more, static_cast<rlim_t>(next) + more};
    setrlimit(RLIMIT_NOFILE, &limit);
}

template <class Ended>
bool says_what_helps(const Ended& ended) {
    return !ended.ok() && ended.error().code == ExitCode::unreachable && !ended.error().message.empty() &&
           ended.error().message.find('\n') == std::string::npos;
}

#if defined(WQ_SANITIZED_ADDRESS)
constexpr bool ubsan = true;  // implied
#else
constexpr bool ubsan = false;
#endif

TEST(TcpThrown, AManagerThatGetsNoDescriptorsIsAValue) {
    if (ubsan) GTEST_SKIP() << "UBSan opens a pipe to look at an object that is thrown";
    int refused = 0;
    for (rlim_t more = 0; more < 12; ++more) {
        const int code = thrown_in_child([more] {
            leave_descriptors(more);
            const auto manager = TcpListener::open(on_loopback());
            return manager.ok() ? 1 : says_what_helps(manager) ? 2 : 3;
        });
        EXPECT_TRUE(code == 1 || code == 2) << "with " << more << " descriptors: " << code;
        refused += code == 2 ? 1 : 0;
    }
    EXPECT_GE(refused, 4);
}

TEST(TcpThrown, AWorkersCallThatGetsNoDescriptorsIsAValue) {
    if (ubsan) GTEST_SKIP() << "UBSan opens a pipe to look at an object that is thrown";
    DeadPort nobody;
    int refused = 0;
    for (rlim_t more = 0; more < 12; ++more) {
        const int code = thrown_in_child([more, port = nobody.port()] {
            leave_descriptors(more);
            auto opened = TcpDialer::open(to_port(port));
            if (!opened) return says_what_helps(opened) ? 2 : 3;
            Worker worker(std::move(*opened));
            worker.await([&] { return !worker.arrivals.empty(); });
            return worker->failure() ? 1 : 4;
        });
        EXPECT_TRUE(code == 1 || code == 2) << "with " << more << " descriptors: " << code;
        refused += code == 2 ? 1 : 0;
    }
    EXPECT_GE(refused, 3);
}

std::size_t address_space() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(TcpThrown, AFrameForWhichThereIsNoMemoryCostsItsLinkAlone) {
#if defined(WQ_SANITIZED_ADDRESS) || defined(WQ_SANITIZED_THREAD)
    GTEST_SKIP() << "sanitizers take all of the address space";
#endif
    EXPECT_EQ(thrown_in_child([] {
                  Manager manager = listen();
                  Raw large = Raw::to(manager->port());
                  if (!large.join() || !manager.await_count<Joined>(1)) return 1;
                  Worker other = dial(to_port(manager->port()));
                  if (!other.await_count<Joined>(1) || !manager.await_count<Joined>(2)) return 2;
                  rlimit limit{};
                  limit.rlim_cur = limit.rlim_max = address_space() + (300u << 20);
                  setrlimit(RLIMIT_AS, &limit);
                  const auto head = frame_head(900u << 20);
                  large.say({head.data(), head.size()});
                  const std::string piece(1u << 20, 'x');
                  for (int i = 0; i < 900 && large.say(piece); ++i) {
                  }
                  if (manager.why().find("out of memory") == std::string::npos) return 3;
                  other->send(TcpDialer::manager, "still here");
                  if (!manager.await_count<Frame>(1)) return 4;
                  return manager.all<Left>().size() == 1 ? 0 : 5;
              }),
              0);
}

}  // namespace
}  // namespace wq::net::frames
