#include "ranks/mpi/goodbye.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace wq::ranks::mpi {

namespace {

int milliseconds(Duration limit) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count());
}

// The functions we need, as in pmix.h. An Open MPI with a bundled PMIx has no libpmix.so.2: then there is no
// library.
class Pmix {
  public:
    Pmix() : library_(::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL)) {}

    // int PMIx_Init(pmix_proc_t*, pmix_info_t[], size_t)
    bool join() const {
        const auto init = function<int (*)(void*, void*, std::size_t)>("PMIx_Init");
        return init && init(nullptr, nullptr, 0) == 0;
    }
    // int PMIx_Finalize(const pmix_info_t[], size_t)
    bool leave() const {
        const auto finalize = function<int (*)(const void*, std::size_t)>("PMIx_Finalize");
        return finalize && finalize(nullptr, 0) == 0;
    }
    // int PMIx_Abort(int, const char[], pmix_proc_t[], size_t): no process given, so the whole job
    bool abort(int exit_code) const {
        const auto abort = function<int (*)(int, const char*, void*, std::size_t)>("PMIx_Abort");
        return abort && abort(exit_code, "a rank was lost while MPI started", nullptr, 0) == 0;
    }

  private:
    template <class Function>
    Function function(const char* name) const {
        return library_ ? reinterpret_cast<Function>(::dlsym(library_, name)) : nullptr;
    }
    void* library_;
};

// Runs `talk` in a child process, since PMIx_Init may hang (5 of 54 runs of a guard that called it itself).
template <class Talk>
bool pmix_attempt(Duration limit, Talk talk) {
    std::array<int, 2> alive{-1, -1};  // its other end closes when the child ends: works on every kernel
    if (::pipe2(alive.data(), O_CLOEXEC) != 0) return false;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(talk(Pmix()) ? 0 : 1);
    ::close(alive[1]);
    pollfd ended{alive[0], POLLIN, 0};
    const bool in_time = child > 0 && ::poll(&ended, 1, milliseconds(limit)) == 1;
    ::close(alive[0]);
    if (child < 0) return false;
    if (!in_time) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    return in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The socket to hydra's proxy after writing `words`.
std::optional<int> tell_hydra(std::string_view words) {
    const char* text = std::getenv("PMI_FD");
    const auto fd = parse_count(text ? text : "", 0, 1 << 20);
    if (!fd) return std::nullopt;
    const int socket = static_cast<int>(*fd);
    if (::write(socket, words.data(), words.size()) != static_cast<ssize_t>(words.size()))
        return std::nullopt;
    return socket;
}

bool hydra_attempt(Duration limit) {
    const std::optional<int> socket = tell_hydra("cmd=finalize\n");
    if (!socket) return false;
    pollfd answer{*socket, POLLIN, 0};
    char acknowledged[64];
    return ::poll(&answer, 1, milliseconds(limit)) == 1 &&
           ::read(*socket, acknowledged, sizeof acknowledged) > 0;
}

}  // namespace

bool say_goodbye(ProcessManager manager, const GoodbyeOptions& options) {
    for (int attempt = 0; attempt < options.attempts; ++attempt) {
        const auto greet = [](const Pmix& pmix) { return pmix.join() && pmix.leave(); };
        if (manager == ProcessManager::pmix && pmix_attempt(options.limit, greet)) return true;
        // A second attempt would be answered twice; hydra needs only one.
        if (manager == ProcessManager::hydra) return hydra_attempt(options.limit);
    }
    return manager == ProcessManager::none;
}

bool abort_job(ProcessManager manager, int exit_code, const GoodbyeOptions& options) {
    if (manager == ProcessManager::hydra)  // it does not answer: it kills
        return tell_hydra("cmd=abort exitcode=" + std::to_string(exit_code) + "\n").has_value();
    if (manager != ProcessManager::pmix) return false;
    const auto end = [&](const Pmix& pmix) { return pmix.join() && pmix.abort(exit_code); };
    for (int attempt = 0; attempt < options.attempts; ++attempt)
        if (pmix_attempt(options.limit, end)) return true;
    return false;
}

}  // namespace wq::ranks::mpi
