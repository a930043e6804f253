#include "slices_program/command_host.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "executor/descriptors.h"
#include "process/process_tree.h"

namespace wq::slices_program {

namespace {

// The answer to a request, and later the end of its command.
struct Answer {
    std::int32_t error = 0;   // errno of a start that failed
    std::int32_t status = 0;  // of waitpid()
};

using Length = std::uint64_t;  // of a request, which follows; with it comes the descriptor of stdin

std::string bytes_of(const CommandLine& command) {
    ByteWriter out;
    out.blob(command.file);
    out.blobs(command.words);
    out.blobs(command.environment);
    return out.take();
}

std::optional<CommandLine> command_in(std::string_view bytes) {
    ByteReader in(bytes);
    CommandLine command;
    command.file = in.blob();
    command.words = in.blobs();
    command.environment = in.blobs();
    if (!in.at_end()) return std::nullopt;
    return command;
}

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return false;
        if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_all(int socket, std::span<char> to) {
    while (!to.empty()) {
        const ssize_t got = ::recv(socket, to.data(), to.size(), 0);
        if (got == 0 || (got < 0 && errno != EINTR)) return false;
        if (got > 0) to = to.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

std::optional<Answer> receive_answer(int socket) {
    std::array<char, sizeof(Answer)> bytes;
    if (!receive_all(socket, bytes)) return std::nullopt;
    Answer answer;
    std::memcpy(&answer, bytes.data(), sizeof answer);
    return answer;
}

std::vector<char*> pointers_of(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::string message_of(int error_number) {
    return std::generic_category().message(error_number);
}

class Host {
  public:
    explicit Host(int control) : control_(control) {
        sigset_t child;
        ::sigemptyset(&child);
        ::sigaddset(&child, SIGCHLD);
        ends_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    // Until the rank is gone.
    void run() {
        while (wait()) continue;
    }

  private:
    bool wait() {
        std::array<pollfd, 2> ready{pollfd{control_, POLLIN, 0}, pollfd{ends_.get(), POLLIN, 0}};
        if (::poll(ready.data(), ready.size(), -1) < 0) return errno == EINTR;
        if (ready[0].revents != 0 && !take_request()) return false;
        return ready[1].revents == 0 || reap();
    }
    bool take_request() {
        Length length = 0;
        std::vector<Descriptor> in;
        if (executor::receive_descriptors(control_, executor::writable_bytes_of_value(length), in) !=
                ssize_t{sizeof length} ||
            in.size() != 1)
            return false;
        std::string bytes(length, '\0');
        if (!receive_all(control_, bytes)) return false;
        auto command = command_in(bytes);
        return command && tell({start(*command, in.front().get()), 0});
    }
    int start(CommandLine& command, int in) {
        const std::vector<char*> argv = pointers_of(command.words);
        const std::vector<char*> envp = pointers_of(command.environment);
        process::SpawnPlan plan;
        plan.file = command.file.c_str();
        plan.argv = argv.data();
        plan.envp = envp.data();
        plan.in = in;
        plan.only_standard = true;
        plan.own_group = false;
        const process::Spawned child = process::spawn(plan, stack_);
        command_ = child.pid;
        return child.error;
    }
    // Of all that end here, only the command's end is told: the others are what commands left behind.
    bool reap() {
        signalfd_siginfo info;
        while (::read(ends_.get(), &info, sizeof info) > 0) continue;
        int status = 0;
        for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
            if (ended != command_) continue;
            command_ = -1;
            if (!tell({0, status})) return false;
        }
        return true;
    }
    bool tell(const Answer& answer) {
        std::array<char, sizeof answer> bytes;
        std::memcpy(bytes.data(), &answer, sizeof answer);
        return send_all(control_, {bytes.data(), bytes.size()});
    }

    int control_;
    Descriptor ends_;
    process::ChildStack stack_;
    pid_t command_ = -1;
};

}  // namespace

CommandHost::CommandHost() {
    begin();
}

CommandHost::~CommandHost() {
    end();
}

void CommandHost::begin() {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error("cannot make a socket: " + message_of(errno));
    const Descriptor theirs(ends[0]);
    {
        const std::lock_guard lock(mutex_);
        control_.reset(ends[1]);
        if (stopped_) ::shutdown(control_.get(), SHUT_WR);
    }
    std::string word(command_host_word);
    std::string name = "work_queue_slices";
    const std::array<char*, 3> argv{name.data(), word.data(), nullptr};
    process::SpawnPlan plan;
    plan.file = "/proc/self/exe";
    plan.argv = argv.data();
    plan.envp = ::environ;
    plan.in = theirs.get();
    plan.only_standard = true;
    plan.dies_with_us = false;  // it has something to do then
    const process::Spawned child = process::spawn(plan, stack_);
    if (child.pid <= 0) throw std::runtime_error("cannot start a process: " + message_of(child.error));
    pid_ = child.pid;
}

void CommandHost::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (control_.valid()) ::shutdown(control_.get(), SHUT_WR);  // as if the rank were gone
}

void CommandHost::end() {
    {
        const std::lock_guard lock(mutex_);
        control_.reset();
    }
    while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

Status CommandHost::start(const CommandLine& command, int in) {
    if (pid_ < 0) begin();
    auto answer = ask(command, in);
    if (!answer) {  // what an earlier command left may have killed it
        end();
        begin();
        answer = ask(command, in);
    }
    if (!answer) {
        end();
        return Error{ExitCode::unreachable, "the process that starts commands was killed"};
    }
    if (*answer == 0) return success();
    return Error{ExitCode::bad_input, message_of(*answer)};
}

std::optional<int> CommandHost::ask(const CommandLine& command, int in) {
    const std::string bytes = bytes_of(command);
    const Length length = bytes.size();
    const bool sent =
        executor::send_descriptors(control_.get(), executor::bytes_of_value(length), {&in, 1}) &&
        send_all(control_.get(), bytes);
    const auto answer = sent ? receive_answer(control_.get()) : std::nullopt;
    return answer ? std::optional<int>(answer->error) : std::nullopt;
}

std::optional<int> CommandHost::wait() {
    if (const auto answer = receive_answer(control_.get())) return answer->status;
    end();
    return std::nullopt;
}

void host_commands() {
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGCHLD, SIG_DFL);  // ignored, ends would not be told
    // A signal is a command's mistake (`kill $PPID`); commands get an empty mask.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::prctl(PR_SET_NAME, "wq_commands");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    Host(STDIN_FILENO).run();
    process::end_all_children(process::kill_limit_ms);
    ::_exit(0);
}

}  // namespace wq::slices_program
