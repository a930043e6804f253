#include "coprocess/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "base/write_all.h"
#include "coprocess/message.h"
#include "coprocess/remote_call.h"
#include "process/call.h"

namespace wq::coprocess {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_call_line = 4096;
constexpr std::size_t longest_event = 256u << 20;
constexpr int say_something_s = 5;  // a peer that says nothing must not block the worker

struct Answered {
    std::string text;
    std::string words{};
};

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return false;
        if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

std::optional<std::string> line_from(int socket) {
    std::string line;
    for (char byte = 0; line.size() <= longest_call_line;) {
        const ssize_t got = ::recv(socket, &byte, 1, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return std::nullopt;
        if (byte == '\n') return line;
        line += byte;
    }
    return std::nullopt;
}

bool bytes_from(int socket, std::string& to) {
    for (std::size_t at = 0; at < to.size();) {
        const ssize_t got = ::recv(socket, to.data() + at, to.size() - at, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += static_cast<std::size_t>(got);
    }
    return true;
}

void set_receive_limit(int socket, int seconds) {
    const timeval limit{seconds, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

// Takes the same time wherever they differ.
bool same(std::string_view a, std::string_view b) {
    unsigned char differs = a.size() != b.size();
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
        differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
    return differs == 0;
}

class Server {
  public:
    Server(const process::FunctionTable& functions, std::string secret, Descriptor listener)
        : functions_(functions), secret_(std::move(secret)), listener_(std::move(listener)) {
        std::array<char, PATH_MAX> home;
        if (::getcwd(home.data(), home.size()) != nullptr) home_ = home.data();
    }
    void serve() {
        for (;;) {
            const Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (connection.valid()) answer(connection.get());
        }
    }

  private:
    void answer(int connection) {
        set_receive_limit(connection, say_something_s);
        if (!secret_.empty() && !same(line_from(connection).value_or(""), secret_)) return;
        set_receive_limit(connection, 0);
        const auto line = line_from(connection);
        if (!line) return;
        std::istringstream in(*line);
        std::string function, task;
        std::size_t length = 0;
        if (!(in >> function >> task >> length) || length > longest_event) return;
        std::string event(length, '\0');
        if (!bytes_from(connection, event)) return;
        // The worker has made the folder; by hand, there is none.
        if (::chdir(("t." + task).c_str()) != 0) errno = 0;
        const auto answered = run(function, event, connection);
        if (::chdir(home_.c_str()) != 0) std::exit(1);
        if (answered) send_all(connection, with_length(answered->text, answered->words));
    }

    // nullopt: the worker has given the call up.
    std::optional<Answered> run(const std::string& function, const std::string& event, int connection) {
        core::CallMode mode = core::CallMode::fork;
        if (const auto sound = with_mode(event, mode); !sound)
            return Answered{failure_text(sound.error().message)};
        if (mode == core::CallMode::direct) return Answered{answer_to(functions_, function, event)};
        if (mode == core::CallMode::fork) return in_a_child(function, event, connection);
        Answered answered;
        std::thread([&] { answered.text = answer_to(functions_, function, event); }).join();
        return answered;
    }

    std::optional<Answered> in_a_child(const std::string& function, const std::string& event,
                                       int connection) {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Answered{failure_text("no pipe for the call")};
        const Descriptor reader(ends[0]);
        Descriptor writer(ends[1]);
        const pid_t child = ::fork();
        if (child < 0) return Answered{failure_text("no process for the call: raise ulimit -u")};
        if (child == 0) child_main(function, event, writer.get(), connection);
        ::setpgid(child, child);  // as the child does: either may be first
        writer.reset();
        LengthReader text(core::most_output_limit);
        const bool wanted = wait_for_child(child, reader.get(), connection, text);
        if (!wanted) ::kill(-child, SIGKILL);
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        ::kill(-child, SIGKILL);  // what it left in its group
        if (!wanted) return std::nullopt;
        if (text.complete()) return Answered{std::move(text.body())};
        const bool signalled = WIFSIGNALED(status);
        const std::string how = signalled ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit " + std::to_string(WEXITSTATUS(status));
        return Answered{failure_text("the function ended its process with " + how), how};
    }

    [[noreturn]] void child_main(const std::string& function, const std::string& event, int writer,
                                 int connection) {
        ::setpgid(0, 0);
        ::close(listener_.get());
        ::close(connection);
        const std::string answer = answer_to(functions_, function, event);
        std::cout.flush();
        std::fflush(nullptr);
        ::_exit(write_all(writer, with_length(answer)) ? 0 : 1);  // our exit handlers must not run here
    }

    // False: the worker has closed its side.
    static bool wait_for_child(pid_t child, int reader, int connection, LengthReader& text) {
        const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
        std::array<pollfd, 3> polled{pollfd{connection, POLLIN, 0}, pollfd{reader, POLLIN, 0},
                                     pollfd{process.get(), POLLIN, 0}};
        while (!text.complete()) {
            if (::poll(polled.data(), polled.size(), -1) < 0) continue;
            char byte = 0;
            if (polled[0].revents != 0 && ::recv(connection, &byte, 1, 0) <= 0) return false;
            if (polled[1].revents != 0) {
                std::array<char, 65536> bytes;
                const ssize_t got = ::read(reader, bytes.data(), bytes.size());
                if (got <= 0) break;
                text.feed({bytes.data(), static_cast<std::size_t>(got)});
            } else if (polled[2].revents != 0) {
                break;  // all that it wrote is read
            }
        }
        return true;
    }

    const process::FunctionTable& functions_;
    std::string secret_;
    Descriptor listener_;
    std::string home_;
};

std::uint16_t port_of(int listener) {
    sockaddr_in where{};
    socklen_t size = sizeof where;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size);
    return ntohs(where.sin_port);
}

Descriptor listen_here() {
    Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
        ::listen(listener.get(), 16) != 0)
        listener.reset();
    return listener;
}

std::string json_text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string answer_to(const process::FunctionTable& functions, const std::string& function,
                      const std::string& event) {
    const Json json = Json::parse(event, nullptr, false);
    if (!json.is_object()) return failure_text("the event is no JSON object");
    const Json args = json.value("fn_args", Json::array());
    const Json kwargs = json.value("fn_kwargs", Json::object());
    if (!args.is_array()) return failure_text("fn_args is no array");
    if (!kwargs.empty() && !kwargs.is_null())
        return failure_text("C++ functions have no named arguments: give all in fn_args");
    std::string packed;
    Json::to_msgpack(args, packed);
    const process::CallEnd end = process::run_call(functions, {function, packed});
    if (end.ending != core::Ending::exited) return failure_text(end.reason);
    Json result;
    if (!end.result.empty()) result = Json::from_msgpack(end.result, true, false);
    if (result.is_discarded()) return failure_text("its result cannot be JSON");
    return json_text({{"Result", result}, {"StatusCode", 200}});
}

int serve(const std::string& name, const process::FunctionTable& functions) {
    const char* const secret = std::getenv(secret_variable);
    const std::string guard = secret == nullptr ? "" : secret;
    ::unsetenv(secret_variable);
    Descriptor listener = listen_here();
    if (!listener.valid()) {
        std::perror("cannot listen on 127.0.0.1");
        return 1;
    }
    const Json greeting{{"name", name}, {"port", port_of(listener.get())}, {"guarded", !guard.empty()}};
    if (!write_all(STDOUT_FILENO, with_length(json_text(greeting) + "\n"))) return 1;
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    Server(functions, guard, std::move(listener)).serve();
    return 0;
}

}  // namespace wq::coprocess
