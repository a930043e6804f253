#include "ranks/mpi/guard.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "base/result.h"
#include "base/shortage.h"
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
std::optional<int> send_to_hydra(std::string_view words) {
    const char* text = std::getenv("PMI_FD");
    const auto fd = parse_count(text ? text : "", 0, 1 << 20);
    if (!fd) return std::nullopt;
    const int socket = static_cast<int>(*fd);
    if (::write(socket, words.data(), words.size()) != static_cast<ssize_t>(words.size()))
        return std::nullopt;
    return socket;
}

bool hydra_attempt(Duration limit) {
    const std::optional<int> socket = send_to_hydra("cmd=finalize\n");
    if (!socket) return false;
    pollfd answer{*socket, POLLIN, 0};
    char acknowledged[64];
    return ::poll(&answer, 1, milliseconds(limit)) == 1 &&
           ::read(*socket, acknowledged, sizeof acknowledged) > 0;
}

}  // namespace

bool send_goodbye(ProcessManager manager, const GoodbyeOptions& options) {
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
        return send_to_hydra("cmd=abort exitcode=" + std::to_string(exit_code) + "\n").has_value();
    if (manager != ProcessManager::pmix) return false;
    const auto end = [&](const Pmix& pmix) { return pmix.join() && pmix.abort(exit_code); };
    for (int attempt = 0; attempt < options.attempts; ++attempt)
        if (pmix_attempt(options.limit, end)) return true;
    return false;
}

// Everything that the guard knows about the rank. Atomic, as the rank may be killed at any moment.
struct RankState {
    std::atomic<bool> starting = false;
    std::atomic<bool> again = false;  // MPI has started; others may wait for it
    std::atomic<bool> ready = false;
    std::atomic<bool> finalized = false;
    std::atomic<int> rank = 0;
};
// A lock would stay locked if its holder is killed.
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

namespace {

// Signals of a crash are our bug and do not mean "resume later": a job that requeues on 75 would loop.
int own_code(int status) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    for (const int crash : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE})
        if (WTERMSIG(status) == crash) return to_int(ExitCode::internal);
    return to_int(ExitCode::interrupted);
}

// How the rank ended.
struct End {
    int status = 0;
    bool launcher_ends_us = false;
};

// Every signal but SIGKILL is blocked or ignored here.
void wait_to_be_killed(Duration limit) {
    ::poll(nullptr, 0,
           static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()));
}

int judge(const RankState& state, const End& end, const LaunchEnvironment& environment,
          const GuardOptions& options) {
    const int status = end.status;
    if (!state.starting) return own_code(status);
    if (!state.ready) {
        const int code = own_code(status) != 0 ? own_code(status) : to_int(ExitCode::internal);
        const bool killed = WIFSIGNALED(status);
        // A rank that ends with 75 before later collectives has said why.
        const bool unsaid = killed || (state.again && code != to_int(ExitCode::interrupted));
        if (unsaid && !end.launcher_ends_us && options.say)
            options.say("a rank " +
                        (killed ? "was killed by signal " + std::to_string(WTERMSIG(status))
                                : "ended with code " + std::to_string(code)) +
                        (state.again ? " before it served or shared slices; start the job again"
                                     : " while MPI started; no task has run, start it again"));
        if (!environment.ends_job_at_failure) abort_job(environment.manager, code, options.goodbye);
        return code;
    }
    if (state.rank == 0 && WIFSIGNALED(status)) {
        const std::string signal = std::to_string(WTERMSIG(status));
        const std::string rest = options.resumable ? "; the run can be resumed" : "";
        if (options.say) options.say("rank 0 was killed by signal " + signal + rest);
    }
    // Ends the job without a goodbye. Hydra sees our end before our code, kills the others and returns their
    // code 9; but it returns a code that it is told.
    const int code = own_code(status);
    const bool ends_job = state.rank == 0 && (WIFSIGNALED(status) || code == to_int(ExitCode::interrupted));
    if (ends_job && !state.finalized && environment.forgets_code_after_signal) {
        abort_job(environment.manager, code, options.goodbye);
        return code;
    }
    if (state.rank == 0 && WIFSIGNALED(status)) return code;
    // A launcher that is about to kill us would kill the goodbye halfway (guard.h). Without any goodbye
    // rank 0 would be killed at once, before it has saved: in 4 of 7 runs it was.
    const bool doomed = end.launcher_ends_us && environment.kills_after_signal;
    if (!state.finalized && !doomed) send_goodbye(environment.manager, options.goodbye);
    if (!state.finalized && doomed && state.rank != 0) wait_to_be_killed(options.kill_wait_limit);
    return state.rank == 0 ? code : 0;
}

// Waits for the end of `rank`. SIGCHLD and SIGTERM are blocked, so neither is missed; if both are pending,
// SIGTERM, the lower number, comes first. A SIGTERM from anybody else is meant for the rank, which gets it
// too.
End wait_for(pid_t rank, const sigset_t& awaited) {
    End end;
    for (;;) {
        siginfo_t signal{};
        if (::sigwaitinfo(&awaited, &signal) == SIGTERM && signal.si_pid == ::getppid())
            end.launcher_ends_us = true;
        if (::waitpid(rank, &end.status, WNOHANG) != 0) return end;
    }
}

// Rank 0 reads the job's stdin; a second holder would hide from the writer that the reader is gone.
void let_go_of_stdin() {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0) return;
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
}

void ignore_what_the_rank_handles() {
    for (const int signal : {SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
}

}  // namespace

void GuardLink::mpi_starting() {
    if (state_ == nullptr) return;
    state_->again = state_->again || state_->ready;
    state_->starting = true;
    state_->ready = false;
}
void GuardLink::mpi_ready(int rank) {
    if (state_ == nullptr) return;
    state_->rank = rank;
    state_->ready = true;
}
void GuardLink::mpi_finalized() {
    if (state_ == nullptr) return;
    state_->ready = state_->ready || state_->again;
    state_->finalized = true;
}

std::optional<int> fork_guard(const LaunchEnvironment& environment, GuardLink& link,
                              const GuardOptions& options) {
    if (!environment.launched) return std::nullopt;
    void* const shared =
        ::mmap(nullptr, sizeof(RankState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        if (options.say) options.say(refused_by_system("no guard watches this rank").message);
        return std::nullopt;
    }
    RankState& state = *new (shared) RankState;

    const pid_t guard = ::getpid();
    ::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, it would never arrive
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);  // none may reach the guard before it ignores them
    const pid_t rank = ::fork();
    if (rank == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != guard) ::_exit(to_int(ExitCode::interrupted));
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        link = GuardLink(state);
        return std::nullopt;
    }
    if (rank > 0) ignore_what_the_rank_handles();
    sigset_t awaited;
    ::sigemptyset(&awaited);
    ::sigaddset(&awaited, SIGCHLD);
    ::sigaddset(&awaited, SIGTERM);
    ::sigprocmask(SIG_SETMASK, &awaited, nullptr);
    if (rank < 0) {
        if (options.say) options.say(refused_by_system("cannot fork the rank").message);
        return to_int(ExitCode::refused);
    }
    let_go_of_stdin();
    const End end = wait_for(rank, awaited);
    return judge(state, end, environment, options);
}

int run_guarded(const LaunchEnvironment& environment, const std::function<int(GuardLink&)>& main_of_rank,
                const GuardOptions& options) {
    GuardLink link;
    const pid_t before = ::getpid();
    if (const auto code = fork_guard(environment, link, options)) return *code;
    const int code = main_of_rank(link);
    if (::getpid() != before) std::exit(code);  // with a guard that has our caller's frame too
    return code;
}

}  // namespace wq::ranks::mpi
