// Names that are resolved late or have several addresses. In this executable the resolver is the system's,
// except for the names below.
#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "tcp_ends.h"

namespace {

// "late.invalid" has no answer until the gate is opened.
std::mutex gate_mutex;
std::condition_variable gate_opened;
bool gate_is_open = false;

void open_gate(bool open) {
    const std::lock_guard lock(gate_mutex);
    gate_is_open = open;
    gate_opened.notify_all();
}

}  // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    using Resolve = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto system = reinterpret_cast<Resolve>(dlsym(RTLD_NEXT, "getaddrinfo"));
    if (node == nullptr || std::strcmp(node, "late.invalid") != 0) return system(node, service, hints, found);
    // If asked whether it is numeric: it is not.
    if (hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
    std::unique_lock lock(gate_mutex);
    gate_opened.wait(lock, [] { return gate_is_open; });
    return system("127.0.0.1", service, hints, found);
}

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;

TEST(TcpLate, ANameThatIsResolvedWhileAnotherAddressKeepsSilentRunsToo) {
    open_gate(false);
    RawDoor silent;  // accepts the connection, and would hold the worker for an hour
    Manager manager = listen();
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", silent.port()}, {"late.invalid", manager->port()}};
    options.stagger = 1ms;
    options.connect = options.limits.handshake = 1h;
    Worker worker = dial(options);
    Raw held = silent.accept();
    const Instant until = instant_now() + 100ms;  // the next address's turn comes meanwhile, and there is
                                                  // none
    worker.await([&] { return instant_now() > until; });
    open_gate(true);
    ASSERT_TRUE(worker.await_count<Joined>(1));
    EXPECT_EQ(worker.all<Joined>()[0].address,
              "late.invalid at 127.0.0.1:" + std::to_string(manager->port()));
}

TEST(TcpLate, WhoStopsBeforeTheAnswerIsNotCalledByIt) {
    open_gate(false);
    TcpDialOptions options;
    options.managers = {{"late.invalid", 9}};
    dial(options);
    open_gate(true);
}

}  // namespace
}  // namespace wq::net::frames
