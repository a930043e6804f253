// Thousands of connections at once, and what happens when descriptors run out.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Workers on one thread, all connecting at once: as when a batch system starts an array of jobs.
class LoadGenerator {
  public:
    LoadGenerator(std::size_t count, std::uint16_t port, const std::string& key) {
        for (std::size_t i = 0; i < count; ++i) {
            clients_.push_back({Raw(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
                                Handshake(Role::worker, key, {}, fresh_nonce()),
                                FrameSplitter(1u << 20),
                                {},
                                false,
                                false});
            clients_.back().raw.connect(port);
        }
    }

    // One poll of all of them.
    void turn() {
        std::vector<pollfd> entries;
        for (const Client& client : clients_)
            entries.push_back({client.lost ? -1 : client.raw.get(),
                               static_cast<short>(client.greeted ? POLLIN : POLLOUT), 0});
        if (::poll(entries.data(), entries.size(), 10) <= 0) return;
        for (std::size_t i = 0; i < clients_.size(); ++i)
            if (entries[i].revents != 0) serve(clients_[i]);
    }

    std::size_t count(const std::string& frame) const {
        std::size_t found = 0;
        for (const Client& client : clients_) found += client.heard == frame ? 1 : 0;
        return found;
    }
    std::size_t lost() const {
        std::size_t found = 0;
        for (const Client& client : clients_) found += client.lost ? 1 : 0;
        return found;
    }

  private:
    struct Client {
        Raw raw;
        Handshake handshake;
        FrameSplitter splitter;
        std::string heard;
        bool greeted;
        bool lost;
    };

    void serve(Client& client) {
        if (!client.greeted) {
            client.greeted = true;
            client.lost = !client.raw.say_frame(client.handshake.hello());
            return;
        }
        const std::string bytes = client.raw.hear();
        client.lost = bytes.empty();
        std::string_view rest = bytes;
        while (auto frame = client.splitter.take(rest)) {
            if (!client.handshake.going()) {
                client.heard += *frame;
                continue;
            }
            const std::string answer = client.handshake.on_frame(*frame);
            if (!answer.empty()) client.raw.say_frame(answer);
            if (client.handshake.done()) client.raw.say_frame("ready");
            if (!client.handshake.going() && !client.handshake.done()) client.lost = true;
        }
    }

    std::vector<Client> clients_;
};

TEST(TcpCrowd, TwoThousandAtOnceAndNoneIsDropped) {
    constexpr std::size_t count = 2000;
    TcpListenOptions options = on_loopback();
    options.key = "key";
    options.limits.handshake = patience;  // for a machine under any load
    Manager manager = listen(std::move(options));
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * count + 100)
        GTEST_SKIP() << "only " << limit.rlim_cur << " open files are allowed";
    LoadGenerator workers(count, manager->port(), "key");
    const Instant until = instant_now() + patience;
    std::size_t looked_at = 0;
    while (workers.count("served") < count && workers.lost() == 0 && instant_now() < until) {
        workers.turn();
        manager->poll(manager.arrivals);
        for (; looked_at < manager.arrivals.size(); ++looked_at)
            if (const auto* frame = std::get_if<Frame>(&manager.arrivals[looked_at]))
                manager->send(frame->peer, "served");
    }
    EXPECT_EQ(workers.lost(), 0u);
    EXPECT_EQ(workers.count("served"), count);
    EXPECT_EQ(manager.all<Joined>().size(), count);
    EXPECT_EQ(manager.all<Frame>().size(), count);
    EXPECT_EQ(manager.all<Left>().size(), 0u);
    EXPECT_EQ(manager->counts().accepted, count);
    EXPECT_EQ(manager->counts().refused, 0u);
}

// In a separate process, since limits are per process. Returns its exit code.
int in_child(const std::function<int()>& run) {
    const pid_t pid = fork();
    if (pid == 0) _exit(run());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(TcpCrowd, TheLimitOfOpenFilesIsRaised) {
    EXPECT_EQ(in_child([] {
                  rlimit limit{};
                  getrlimit(RLIMIT_NOFILE, &limit);
                  const rlim_t hard = limit.rlim_max;
                  limit.rlim_cur = 300;
                  setrlimit(RLIMIT_NOFILE, &limit);
                  Manager manager = listen();
                  getrlimit(RLIMIT_NOFILE, &limit);
                  return limit.rlim_cur == hard ? 0 : 1;
              }),
              0);
}

// A manager with few descriptors, and workers from the parent until one is rejected.
TEST(TcpCrowd, WhenDescriptorsAreUsedUpWorkersAreToldAndOthersComeAgainLater) {
    int ports[2];
    ASSERT_EQ(pipe(ports), 0);
    const pid_t child = fork();
    if (child == 0) {
        const rlimit few{40, 40};
        setrlimit(RLIMIT_NOFILE, &few);
        Manager manager = listen();
        const std::uint16_t port = manager->port();
        static_cast<void>(!write(ports[1], &port, sizeof port));
        manager.await([&] {
            for (const Frame& frame : manager.all<Frame>())
                manager->send(frame.peer, "served " + frame.bytes);
            const bool over = manager.frames() == std::vector<std::string>{"bye"};
            manager.arrivals.clear();
            return over;
        });
        _exit(manager->counts().busy > 0 ? 0 : 1);
    }
    std::uint16_t port = 0;
    ASSERT_EQ(read(ports[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
    std::vector<Raw> workers;
    std::string refused;
    while (workers.size() < 100 && refused.empty()) {
        Raw next = Raw::to(port);
        Handshake handshake(Role::worker, {}, {}, fresh_nonce());
        if (next.shake_hands(handshake)) {
            workers.push_back(std::move(next));
        } else {
            refused = handshake.failure().message;
            EXPECT_EQ(handshake.failure().code, ExitCode::unreachable) << "which means: try again";
        }
    }
    EXPECT_THAT(refused, HasSubstr("busy: the manager has no descriptor left"));
    ASSERT_GT(workers.size(), 5u);
    // Connected workers are served as before.
    workers[0].say_frame("me");
    EXPECT_EQ(workers[0].hear_words(), "served me");
    // A worker's own end reports the same.
    Worker late = dial(to_port(port));
    EXPECT_THAT(late.why(), HasSubstr("busy"));
    EXPECT_EQ(late->failure()->code, ExitCode::unreachable);
    // One leaves, and there is room for another.
    workers.pop_back();
    bool joined = false;
    for (int i = 0; i < 1000 && !joined; ++i) {
        Worker again = dial(to_port(port));
        again.await([&] { return !again.arrivals.empty(); });
        joined = !again.all<Joined>().empty();
    }
    EXPECT_TRUE(joined);
    workers[0].say_frame("bye");
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    close(ports[0]);
    close(ports[1]);
}

}  // namespace
}  // namespace wq::net::frames
