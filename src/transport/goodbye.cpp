#include "transport/goodbye.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/units.h"

namespace wq::transport {

namespace {

int milliseconds(Duration limit) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count());
}

// An Open MPI with a PMIx of its own has no libpmix.so.2: false.
bool pmix_round() {
    void* library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    // As in pmix.h: int PMIx_Init(pmix_proc_t*, pmix_info_t[], size_t), int PMIx_Finalize(const
    // pmix_info_t[], size_t).
    using Init = int (*)(void*, void*, std::size_t);
    using Finalize = int (*)(const void*, std::size_t);
    const auto init = reinterpret_cast<Init>(::dlsym(library, "PMIx_Init"));
    const auto finalize = reinterpret_cast<Finalize>(::dlsym(library, "PMIx_Finalize"));
    return init && finalize && init(nullptr, nullptr, 0) == 0 && finalize(nullptr, 0) == 0;
}

// In a child of its own, since PMIx_Init may hang.
bool pmix_attempt(Duration limit) {
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) ::_exit(pmix_round() ? 0 : 1);
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    pollfd ended{pidfd, POLLIN, 0};
    const bool in_time = pidfd >= 0 && ::poll(&ended, 1, milliseconds(limit)) == 1;
    if (pidfd >= 0) ::close(pidfd);
    if (!in_time) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    return in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool hydra_attempt(Duration limit) {
    const char* text = std::getenv("PMI_FD");
    const auto fd = parse_count(text ? text : "", 0, 1 << 20);
    if (!fd) return false;
    constexpr std::string_view word = "cmd=finalize\n";
    const int socket = static_cast<int>(*fd);
    if (::write(socket, word.data(), word.size()) != static_cast<ssize_t>(word.size())) return false;
    pollfd answer{socket, POLLIN, 0};
    char acknowledged[64];
    return ::poll(&answer, 1, milliseconds(limit)) == 1 &&
           ::read(socket, acknowledged, sizeof acknowledged) > 0;
}

}  // namespace

bool say_goodbye(ProcessManager manager, const GoodbyeOptions& options) {
    for (int attempt = 0; attempt < options.attempts; ++attempt) {
        if (manager == ProcessManager::pmix && pmix_attempt(options.limit)) return true;
        // Said twice it would be answered twice: once is all that hydra needs.
        if (manager == ProcessManager::hydra) return hydra_attempt(options.limit);
    }
    return manager == ProcessManager::none;
}

}  // namespace wq::transport
