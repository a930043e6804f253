#include "node/launcher/launcher_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/units.h"
#include "node/launcher/shared_page.h"

namespace wq::node::launcher {

namespace {

// The descriptors that the program is given.
constexpr int control_place = 3;
constexpr int memory_place = 4;
constexpr int free_places = 5;
constexpr std::string_view version = WQ_VERSION;  // both ends must have the same

// A copy above these numbers, so that the descriptors can be moved to them in any order.
Descriptor aside(int fd) {
    return Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, free_places));
}

// The pid, or a negative errno.
int spawn_program(const std::string& program, int control, int memory) {
    posix_spawn_file_actions_t places;
    posix_spawn_file_actions_init(&places);
    posix_spawn_file_actions_adddup2(&places, control, control_place);
    posix_spawn_file_actions_adddup2(&places, memory, memory_place);
    std::string name = "work_queue_launcher";
    std::array<char*, 2> words{name.data(), nullptr};
    pid_t pid = -1;
    const int error = posix_spawn(&pid, program.c_str(), &places, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&places);
    return error == 0 ? pid : -error;
}

Error broken(const std::string& program, const std::string& why) {
    return {ExitCode::unreachable, "the launcher '" + program + "' " + why};
}

Result<std::string> first_word(const std::string& program, int control, Duration limit) {
    pollfd ready{control, POLLIN, 0};
    const Instant until = instant_now() + limit;
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
        if (left.count() <= 0)
            return broken(program, "has not answered within " + format_duration(limit) +
                                       "; is its file system slow, or is it another program?");
        const int events = poll(&ready, 1, static_cast<int>(left.count()));
        if (events > 0) break;
        if (events < 0 && errno != EINTR)
            return broken(program, std::string("cannot be waited for: ") + strerror(errno));
    }
    std::array<char, 64> word;
    const ssize_t got = recv(control, word.data(), word.size(), MSG_DONTWAIT);
    if (got <= 0) return broken(program, "ended without an answer; is it the one of this installation?");
    return std::string(word.data(), static_cast<std::size_t>(got));
}

}  // namespace

Result<Zygote> spawn_zygote(const std::string& program, int memory, Duration answer_limit) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return broken(program, std::string("cannot be given a socket: ") + strerror(errno));
    Zygote zygote;
    zygote.control.reset(ends[0]);
    Descriptor theirs = aside(Descriptor(ends[1]).get());
    const Descriptor theirs_of_memory = aside(memory);
    if (!theirs.valid() || !theirs_of_memory.valid())
        return broken(program, std::string("cannot be given its descriptors: ") + strerror(errno));
    const int pid = spawn_program(program, theirs.get(), theirs_of_memory.get());
    if (pid < 0) return broken(program, std::string("cannot be started: ") + strerror(-pid));
    zygote.pid = pid;
    theirs.reset();
    const auto word = first_word(program, zygote.control.get(), answer_limit);
    if (word && *word == version) return zygote;
    kill(zygote.pid, SIGKILL);
    while (waitpid(zygote.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (!word) return word.error();
    return broken(program, "is of version " + *word + ", this program of " + std::string(version) +
                               ": set WORK_QUEUE_LAUNCHER to the one of the same installation");
}

int launcher_program(int argc, char**) {
    struct stat control {};
    struct stat memory {};
    const bool given = argc == 1 && fstat(control_place, &control) == 0 && S_ISSOCK(control.st_mode) &&
                       fstat(memory_place, &memory) == 0 &&
                       memory.st_size == static_cast<off_t>(sizeof(SharedPage));
    if (!given) {
        std::fputs(
            "work_queue_launcher: it runs the commands of a program that has called MPI_Init itself, which "
            "starts it; it is no command for users\n",
            stderr);
        return to_int(ExitCode::usage);
    }
    const SharedMemory shared(memory_place);
    send(control_place, version.data(), version.size(), MSG_NOSIGNAL);  // from here on the page is in use
    zygote_main(control_place, shared.page(), nullptr, nullptr);
}

}  // namespace wq::node::launcher
