#include "node/process/command_host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/fields.h"
#include "base/read_write.h"
#include "base/remove_tree.h"
#include "node/process/fork_server.h"
#include "node/process/passed_descriptors.h"
#include "node/process/process_tree.h"

namespace wq::node::process {

template <class V>
void fields(CommandLine& command, V& visit) {
    visit(command.file, command.words, command.environment);
}

namespace {

// The answer to a request, or the end of a process.
struct Answer {
    std::int32_t is_end = 0;
    std::int32_t pid = -1;
    std::int32_t number = 0;  // errno of a start that failed; status as of waitpid()
};

using Length = std::uint64_t;  // of a request, which follows; with it comes the descriptor of stdin

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
    Host(int control, CommandHost::Ends ends) : control_(control), reported_(ends) {}
    // Until the rank is gone.
    void run() {
        while (wait()) continue;
    }

  private:
    bool wait() {
        std::array<pollfd, 2> ready{pollfd{control_, POLLIN, 0}, pollfd{ends_.descriptor(), POLLIN, 0}};
        if (::poll(ready.data(), ready.size(), -1) < 0) return errno == EINTR;
        if (ready[0].revents != 0 && !take_request()) return false;
        return ready[1].revents == 0 || reap();
    }
    bool take_request() {
        Length length = 0;
        std::vector<Descriptor> in;
        if (receive_descriptors(control_, writable_bytes_of_value(length), in) != ssize_t{sizeof length} ||
            in.size() != 1)
            return false;
        std::string bytes(length, '\0');
        if (!receive_all(control_, bytes)) return false;
        CommandLine command;
        if (!fields_are(bytes, command)) return false;
        const int error = start(command, in.front().get());
        return send_answer({0, command_, error});
    }
    int start(CommandLine& command, int in) {
        const std::vector<char*> argv = pointers_of(command.words);
        const std::vector<char*> envp = pointers_of(command.environment);
        SpawnPlan plan;
        plan.file = command.file.c_str();
        plan.argv = argv.data();
        plan.envp = envp.data();
        plan.in = in;
        plan.only_standard = true;
        plan.own_group = false;
        const Spawned child = spawn(plan, stack_);
        command_ = child.pid;
        return child.error;
    }
    // The others are what commands left behind.
    bool reap() {
        bool is_heard = true;
        ends_.reap([&](pid_t ended, int status) {
            if (ended != command_ && reported_ == CommandHost::Ends::of_command) return;
            if (ended == command_) command_ = -1;
            if (!send_answer({1, ended, status})) is_heard = false;
        });
        return is_heard;
    }
    bool send_answer(const Answer& answer) {
        std::array<char, sizeof answer> bytes;
        std::memcpy(bytes.data(), &answer, sizeof answer);
        return send_all(control_, {bytes.data(), bytes.size()});
    }

    int control_;
    CommandHost::Ends reported_;
    ChildEnds ends_;
    ChildStack stack_;
    pid_t command_ = -1;
};

}  // namespace

CommandHost::CommandHost(Style style) : style_(std::move(style)) {
    if (!style_.fork) begin();
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
    if (style_.fork) return fork_host(theirs.get());
    std::string word(style_.ends == Ends::of_all ? telling_host_word : command_host_word);
    std::string name = style_.program;
    const std::array<char*, 3> argv{name.data(), word.data(), nullptr};
    SpawnPlan plan;
    plan.file = "/proc/self/exe";
    plan.argv = argv.data();
    plan.envp = ::environ;
    plan.in = theirs.get();
    plan.only_standard = true;
    plan.own_group = style_.own_group;
    plan.dies_with_us = false;  // it has something to do then
    const Spawned child = spawn(plan, stack_);
    if (child.pid <= 0) throw std::runtime_error("cannot start a process: " + message_of(child.error));
    pid_ = child.pid;
}

void CommandHost::fork_host(int socket) {
    if (const Status forked = style_.fork(socket); !forked) throw std::runtime_error(forked.error().message);
    std::string text(sizeof(Length), '\0');
    const Length length = folder_.size();
    std::memcpy(text.data(), &length, sizeof length);
    text += folder_;
    const auto ready = send_all(control_.get(), text) ? receive_answer(control_.get()) : std::nullopt;
    if (!ready) throw std::runtime_error("the process that starts commands was killed");
    pid_ = ready->pid;
}

void CommandHost::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (control_.valid()) ::shutdown(control_.get(), SHUT_WR);  // as if the rank were gone
}

void CommandHost::shut_down() {
    const std::lock_guard lock(mutex_);
    if (control_.valid()) ::shutdown(control_.get(), SHUT_WR);
}

void CommandHost::end() {
    {
        const std::lock_guard lock(mutex_);
        if (style_.fork && control_.valid())
            ::shutdown(control_.get(), SHUT_WR);
        else
            control_.reset();
    }
    // Of a forked one we are not the parent.
    while (style_.fork && control_.valid() && receive_answer(control_.get())) continue;
    while (!style_.fork && pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = command_ = -1;
    ends_.clear();
    const std::lock_guard lock(mutex_);
    control_.reset();
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
        send_descriptors(control_.get(), bytes_of_value(length), {&in, 1}) && send_all(control_.get(), bytes);
    if (!sent) return std::nullopt;
    for (;;) {
        const auto answer = receive_answer(control_.get());
        if (!answer) return std::nullopt;
        if (answer->is_end != 0) {
            ends_.push_back({answer->pid, answer->number});
            continue;
        }
        command_ = answer->pid;
        return answer->number;
    }
}

std::optional<int> CommandHost::wait() {
    const auto ended = next_end();
    return ended ? std::optional<int>(ended->status) : std::nullopt;
}

std::optional<CommandHost::End> CommandHost::next_end() {
    if (const auto ended = receive_end()) {
        if (ended->pid == command_) command_ = -1;
        return ended;
    }
    end();
    return std::nullopt;
}

std::optional<CommandHost::End> CommandHost::receive_end() {
    if (!ends_.empty()) {
        const End ended = ends_.front();
        ends_.pop_front();
        return ended;
    }
    const auto answer = receive_answer(control_.get());
    return answer ? std::optional<End>({answer->pid, answer->number}) : std::nullopt;
}

namespace {

// Until the program is gone, and nothing runs any more.
void serve_as_host(CommandHost::Ends ends) {
    become_fork_server("wq_commands", Ignored::kept);
    Host(STDIN_FILENO, ends).run();
    end_all_children(kill_limit_ms);
}

// The folder that begin() sends; nullopt: the program is gone.
std::optional<std::string> receive_folder() {
    std::array<char, sizeof(Length)> bytes;
    if (!receive_all(STDIN_FILENO, bytes)) return std::nullopt;
    Length length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string folder(std::min<Length>(length, PATH_MAX), '\0');
    if (!receive_all(STDIN_FILENO, folder)) return std::nullopt;
    return folder;
}

}  // namespace

void host_commands(CommandHost::Ends ends) {
    serve_as_host(ends);
    ::_exit(0);
}

void forked_host_main(int socket) {
    ::dup2(socket, STDIN_FILENO);
    close_from(STDERR_FILENO + 1);
    const auto folder = receive_folder();
    const Answer ready{0, ::getpid(), 0};
    std::array<char, sizeof ready> bytes;
    std::memcpy(bytes.data(), &ready, sizeof ready);
    if (!folder || !send_all(STDIN_FILENO, {bytes.data(), bytes.size()})) ::_exit(0);
    serve_as_host(CommandHost::Ends::of_command);
    if (!folder->empty()) remove_tree(AT_FDCWD, *folder);
    ::_exit(0);
}

void host_commands_if_asked(int argc, char** argv) {
    if (argc != 2) return;
    if (argv[1] == command_host_word) host_commands(CommandHost::Ends::of_command);
    if (argv[1] == telling_host_word) host_commands(CommandHost::Ends::of_all);
}

}  // namespace wq::node::process
