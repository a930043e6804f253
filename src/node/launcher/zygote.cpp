#include "node/launcher/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shortage.h"
#include "base/units.h"
#include "node/launcher/launcher_process.h"
#include "node/process/fork_server.h"
#include "node/process/passed_descriptors.h"
#include "node/process/process_tree.h"
#include "node/process/scratch.h"
#include "node/usage/task_groups.h"

namespace wq::node::launcher {

namespace {

constexpr int launcher_end_ms = 8000;  // after its rank is gone, a launcher cleans up for at most this long
constexpr std::size_t longest_request = 128 << 10;  // last words may hold a password of 64 KiB

using ChildMain = void (*)(int socket);
constexpr char for_launcher = '+';
constexpr char for_child = '!';
constexpr char for_last_words = '"';

struct Request {
    Descriptor socket;
    std::string scratch;
    ChildMain child = nullptr;              // it is asked for this instead of a launcher
    std::optional<std::string> last_words;  // it only gets these
};

// Returns nullopt if the rank is gone.
std::optional<Request> receive_request(int control) {
    std::string text(longest_request, '\0');
    std::vector<Descriptor> files;
    const ssize_t got = process::receive_descriptors(control, std::as_writable_bytes(std::span(text)), files);
    if (got <= 0) return std::nullopt;
    const char what = text.front();
    text = text.substr(1, static_cast<std::size_t>(got - 1));
    if (what == for_last_words) return Request{{}, {}, nullptr, std::move(text)};
    if (files.empty()) return std::nullopt;
    Request request{std::move(files.front()), {}, nullptr, {}};
    if (what == for_child && text.size() == sizeof request.child)
        std::memcpy(&request.child, text.data(), sizeof request.child);
    else
        request.scratch = std::move(text);
    return request;
}

class ZygoteProcess {
  public:
    ZygoteProcess(int control, SharedPage& shared, const process::FunctionTable* functions,
                  LastWords send_last_words)
        : control_(control), shared_(shared), functions_(functions), send_last_words_(send_last_words) {}

    void run() {
        for (bool rank_lives = true; rank_lives;) {
            std::array<pollfd, 2> ready{{{control_, POLLIN, 0}, {ends_.descriptor(), POLLIN, 0}}};
            poll(ready.data(), ready.size(), -1);
            if (ready[1].revents != 0) children_ended();
            if (ready[0].revents != 0) rank_lives = serve();
        }
        outlive_launcher();
    }

  private:
    bool serve() {
        auto request = receive_request(control_);
        if (!request) return false;
        if (request->last_words) {
            last_words_ = std::move(*request->last_words);
            return true;
        }
        if (request->child != nullptr) return fork_child(*request);
        if (launcher_ > 0) end_launcher();
        if (!request->scratch.empty()) {
            auto folder = process::ScratchFolder::make(request->scratch);
            if (!folder) return send_news(ZygoteNews::Kind::no_scratch, errno);
            scratch_ = std::move(*folder);
            const std::size_t size = std::min(scratch_.path().size(), shared_.scratch.size() - 1);
            scratch_.path().copy(shared_.scratch.data(), size);
            shared_.scratch[size] = '\0';
        }
        Pipe lifeline = open_pipe();
        if (!lifeline.valid()) return give_up(errno);
        lifeline_ = std::move(lifeline.write);
        launcher_ = fork();
        if (launcher_ == 0) {
            close(control_);
            lifeline_.reset();
            ends_.close();
            launcher_main(request->socket.get(), lifeline.read.get(), shared_, functions_,
                          std::move(scratch_));
        }
        if (launcher_ < 0) return give_up(errno);
        const bool heard = send_news(ZygoteNews::Kind::forked, launcher_);
        if (!request->scratch.empty()) clear_up(request->scratch);
        return heard;
    }

    // If it fails, the socket's other end sees that.
    bool fork_child(const Request& request) {
        const pid_t child = fork();
        if (child == 0) {
            request.child(request.socket.get());
            _exit(0);
        }
        if (child > 0) spared_.push_back(child);
        return true;
    }

    bool give_up(int why) {
        scratch_.remove();
        return send_news(ZygoteNews::Kind::not_forked, why);
    }

    // Done in a separate process, because there may be a million files, and nobody should wait for them.
    static void clear_up(const std::string& parent) {
        if (fork() != 0) return;
        close_from(STDERR_FILENO + 1);
        process::remove_abandoned_scratch(parent);
        _exit(0);
    }

    void children_ended() {
        ends_.reap([this](pid_t pid, int status) {
            std::erase(spared_, pid);
            if (pid != launcher_) return;
            clean_up();
            send_news(ZygoteNews::Kind::ended, status, pid);
        });
    }

    // For a launcher that the rank has given up, and that did not end in time.
    void end_launcher() {
        const pid_t launcher = launcher_;
        kill(launcher, SIGKILL);
        int status = 0;
        if (waitpid(launcher, &status, 0) != launcher) status = SIGKILL;
        clean_up();
        send_news(ZygoteNews::Kind::ended, status, launcher);
    }

    // All processes that the launcher started are our children now, beside those that are not the launcher's.
    void clean_up() {
        const pid_t launcher = std::exchange(launcher_, -1);
        lifeline_.reset();
        process::end_all_children(process::kill_limit_ms, spared_);
        std::erase_if(spared_, [](pid_t pid) { return kill(pid, 0) != 0; });  // reaped there
        usage::remove_task_groups_of(launcher);
        scratch_.remove();
    }

    // The rank is gone, and the launcher and the other children notice that themselves.
    void outlive_launcher() {
        lifeline_.reset();
        const Instant until = instant_now() + std::chrono::milliseconds(launcher_end_ms);
        while (launcher_ > 0 || !spared_.empty()) {
            const int left = milliseconds_until(until);
            if (left == 0) break;
            pollfd ready{ends_.descriptor(), POLLIN, 0};
            poll(&ready, 1, left);
            children_ended();
        }
        if (launcher_ > 0) clean_up();
        const int rest = milliseconds_until(until + std::chrono::milliseconds(process::kill_limit_ms));
        const bool all_ended = process::end_all_children(rest);
        if (!last_words_.empty() && send_last_words_ != nullptr) send_last_words_(last_words_, all_ended);
    }

    static int milliseconds_until(Instant until) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }

    bool send_news(ZygoteNews::Kind kind, int value, pid_t launcher = 0) const {
        const ZygoteNews news{kind, value, launcher};
        return send(control_, &news, sizeof news, MSG_NOSIGNAL) == sizeof news;
    }

    int control_;
    SharedPage& shared_;
    const process::FunctionTable* functions_;
    LastWords send_last_words_;
    std::string last_words_;
    process::ChildEnds ends_;
    Descriptor lifeline_;
    pid_t launcher_ = -1;
    std::vector<pid_t> spared_;
    process::ScratchFolder scratch_;
};

// Closes the rank's descriptors: if one of mpirun's stayed open here, it would delay mpirun's end.
int keep_only(int control) {
    constexpr int place = 3;
    if (control != place) dup2(control, place);
    fcntl(place, F_SETFD, FD_CLOEXEC);
    close_from(place + 1);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
    if (nothing > place) close(nothing);
    return place;
}

bool ask(int control, int socket, const std::string& text) {
    return process::send_descriptors(control, std::as_bytes(std::span(text)), std::span(&socket, 1));
}

}  // namespace

void zygote_main(int rank_control, SharedPage& shared, const process::FunctionTable* functions,
                 LastWords last_words) {
    const int control = keep_only(rank_control);
    setsid();
    process::become_fork_server("wq_zygote");
    ZygoteProcess(control, shared, functions, last_words).run();
    _exit(0);
}

Result<Zygote> fork_zygote(SharedPage& shared, const process::FunctionTable* functions,
                           LastWords last_words) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return refused_by_system("cannot make a socket for the launcher");
    Zygote zygote;
    zygote.control.reset(ends[0]);
    Descriptor theirs(ends[1]);
    zygote.pid = fork();
    if (zygote.pid == 0) zygote_main(theirs.get(), shared, functions, last_words);
    if (zygote.pid < 0) return refused_by_system("cannot fork the launcher");
    return zygote;
}

bool ask_for_launcher(int control, int socket, const std::string& scratch) {
    return ask(control, socket, for_launcher + scratch);
}

bool ask_for_child(int control, int socket, void (*main)(int socket)) {
    return ask(control, socket, for_child + std::string(reinterpret_cast<const char*>(&main), sizeof main));
}

bool leave_last_words(int control, const std::string& words) {
    const std::string text = for_last_words + words;
    return send(control, text.data(), text.size(), MSG_NOSIGNAL) > 0;
}

std::optional<ZygoteNews> hear_zygote(int control, bool& gone) {
    ZygoteNews news;
    const ssize_t got = recv(control, &news, sizeof news, MSG_DONTWAIT);
    gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got != sizeof news) return std::nullopt;
    return news;
}

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
