#include "functions/coprocess/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/child.h"
#include "base/json.h"
#include "base/read_write.h"
#include "functions/coprocess/message.h"
#include "node/process/functions.h"

namespace wq::functions::coprocess {

namespace {

constexpr std::size_t longest_call_line = 4096;
constexpr std::size_t longest_event = 256u << 20;
constexpr std::size_t deepest = 500;  // JSON is converted recursively

// Of a result.
static_assert(engine::model::most_output_limit == 256u << 20);
constexpr const char* too_large = "its result is larger than 256 MB";

Answered failed(std::string_view reason, std::string words = std::string(failed_words)) {
    return {failure_text(reason), std::move(words)};
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

class Server {
  public:
    Server(const node::process::FunctionTable& functions, Door door)
        : functions_(functions), door_(std::move(door)) {
        std::array<char, PATH_MAX> home;
        if (::getcwd(home.data(), home.size()) != nullptr) home_ = home.data();
    }
    // Until it can take no calls.
    void serve() {
        for (;;) {
            const Descriptor connection = door_.next();
            if (!connection.valid()) return;
            answer(connection.get());
        }
    }

  private:
    void answer(int connection) {
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
        engine::model::CallMode mode = engine::model::CallMode::fork;
        if (const auto sound = with_mode(event, mode); !sound) return failed(sound.error().message);
        if (mode == engine::model::CallMode::direct) return answer_to(functions_, function, event);
        if (mode == engine::model::CallMode::fork) return in_a_child(function, event, connection);
        Answered answered;
        std::thread([&] { answered = answer_to(functions_, function, event); }).join();
        return answered;
    }

    std::optional<Answered> in_a_child(const std::string& function, const std::string& event,
                                       int connection) {
        Pipe answer = open_pipe();
        if (!answer.valid()) return failed("no pipe for the call");
        const pid_t child = ::fork();
        if (child < 0) return failed("no process for the call: raise ulimit -u");
        if (child == 0) child_main(function, event, answer.write.get(), connection);
        ::setpgid(child, child);  // as the child does: either may be first
        answer.write.reset();
        LengthReader text(engine::model::most_output_limit);
        const bool wanted = wait_for_child(child, answer.read.get(), connection, text);
        if (!wanted) ::kill(-child, SIGKILL);
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        ::kill(-child, SIGKILL);  // what it left in its group
        if (!wanted) return std::nullopt;
        if (text.complete()) return Answered{std::move(text.body()), text.words()};
        if (text.too_long()) return failed(too_large);
        const bool signalled = WIFSIGNALED(status);
        const std::string how = signalled ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit " + std::to_string(WEXITSTATUS(status));
        return failed("the function ended its process with " + how, how);
    }

    [[noreturn]] void child_main(const std::string& function, const std::string& event, int writer,
                                 int connection) {
        ::setpgid(0, 0);
        door_.close();
        ::close(connection);
        const Answered answer = answer_to(functions_, function, event);
        std::cout.flush();
        std::fflush(nullptr);
        ::_exit(write_all(writer, with_length(answer.text, answer.words))
                    ? 0
                    : 1);  // our exit handlers must not run here
    }

    // False: the worker has closed its side.
    static bool wait_for_child(pid_t child, int reader, int connection, LengthReader& text) {
        const Descriptor process = end_descriptor_of(child);
        std::array<pollfd, 3> polled{pollfd{connection, POLLIN, 0}, pollfd{reader, POLLIN, 0},
                                     pollfd{process.get(), POLLIN, 0}};
        while (!text.complete() && !text.broken()) {
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

    const node::process::FunctionTable& functions_;
    Door door_;
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
        ::listen(listener.get(), 64) != 0)
        listener.reset();
    return listener;
}

// Of an object at any level, by their names.
void sort_members(Json& value) {
    if (value.is_array())
        for (Json& part : value.parts()) sort_members(part);
    if (!value.is_object()) return;
    for (Json::Member& member : value.members()) sort_members(member.value);
    std::ranges::sort(value.members(), {}, &Json::Member::key);
}

}  // namespace

Answered answer_to(const node::process::FunctionTable& functions, const std::string& function,
                   const std::string& event) {
    const auto object = read_json_object(event, [](std::string_view, std::string_view) {});
    if (object && object->depth > deepest)
        return failed("the event is nested more than " + std::to_string(deepest) + " deep");
    Json json = object ? Json::parse(event) : Json();
    if (!json.is_object()) return failed("the event is no JSON object that C++ functions can read");
    sort_members(json);
    const Json* const args = json.find("fn_args");
    const Json* const kwargs = json.find("fn_kwargs");
    if (args != nullptr && !args->is_array()) return failed("fn_args is no array");
    if (kwargs != nullptr && !kwargs->is_null() && !(kwargs->is_structured() && kwargs->size() == 0))
        return failed("C++ functions have no named arguments: give all in fn_args");
    const std::string packed = (args == nullptr ? Json::array() : *args).to_msgpack();
    const node::process::CallEnd end = node::process::run_call(functions, {function, packed});
    if (end.ending != engine::model::Ending::exited) return failed(end.reason);
    Json result;
    if (!end.result.empty()) result = Json::from_msgpack(end.result);
    sort_members(result);
    if (result.is_discarded()) return failed("its result cannot be JSON");
    std::string text = Json{{"Result", result}, {"StatusCode", 200}}.dump();
    if (text.size() > engine::model::most_output_limit) return failed(too_large);
    return {std::move(text), std::string(returned_words)};
}

int serve(const std::string& name, const node::process::FunctionTable& functions) {
    const char* const secret = std::getenv(secret_variable);
    const std::string guard = secret == nullptr ? "" : secret;
    ::unsetenv(secret_variable);
    Descriptor listener = listen_here();
    if (!listener.valid()) {
        std::perror("cannot listen on 127.0.0.1");
        return 1;
    }
    const Json greeting{{"guarded", !guard.empty()}, {"name", name}, {"port", port_of(listener.get())}};
    if (!write_all(STDOUT_FILENO, with_length(greeting.dump() + "\n"))) return 1;
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    Server(functions, Door(std::move(listener), guard)).serve();
    std::perror("cannot take calls");
    return 1;
}

namespace {

constexpr Duration secret_limit = std::chrono::seconds(5);
constexpr std::size_t most_waiting = 64;

// Takes the same time wherever they differ.
bool same(std::string_view a, std::string_view b) {
    unsigned char differs = a.size() != b.size();
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
        differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
    return differs == 0;
}

int milliseconds_until(Instant when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - instant_now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

Descriptor Door::next() {
    std::vector<pollfd> polled;
    for (;;) {
        std::erase_if(waiting_, [now = instant_now()](const Waiting& peer) { return peer.until <= now; });
        polled.assign(1, {listener_.get(), POLLIN, 0});
        for (const Waiting& peer : waiting_) polled.push_back({peer.connection.get(), POLLIN, 0});
        const int limit = waiting_.empty() ? -1 : milliseconds_until(waiting_.front().until);
        if (::poll(polled.data(), polled.size(), limit) < 0) {
            if (errno == EINTR) continue;
            return {};
        }
        auto ready = polled.begin() + 1;
        for (auto peer = waiting_.begin(); peer != waiting_.end(); ++ready) {
            const Heard heard = ready->revents != 0 ? listen_to(*peer) : Heard::more;
            Descriptor connection = heard == Heard::all ? std::move(peer->connection) : Descriptor();
            peer = heard == Heard::more ? std::next(peer) : waiting_.erase(peer);
            if (connection.valid()) return connection;
        }
        if (polled.front().revents == 0) continue;
        if (!accept()) return {};
        if (secret_.empty() && !waiting_.empty()) {
            Descriptor connection = std::move(waiting_.back().connection);
            waiting_.clear();
            return connection;
        }
    }
}

// False: it cannot take connections any more.
bool Door::accept() {
    Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) return errno == EINTR || errno == ECONNABORTED;
    if (waiting_.size() >= most_waiting) waiting_.pop_front();
    waiting_.push_back({std::move(connection), {}, instant_now() + secret_limit});
    return true;
}

Door::Heard Door::listen_to(Waiting& peer) const {
    std::array<char, 256> bytes;
    const std::size_t missing = std::min(secret_.size() - peer.said.size(), bytes.size());
    const ssize_t got = ::recv(peer.connection.get(), bytes.data(), missing, MSG_DONTWAIT);
    if (got < 0 && would_block(errno)) return Heard::more;
    if (got <= 0) return Heard::nothing_good;
    peer.said.append(bytes.data(), static_cast<std::size_t>(got));
    if (peer.said.size() < secret_.size() && peer.said.find('\n') == std::string::npos) return Heard::more;
    return same(peer.said, secret_) ? Heard::all : Heard::nothing_good;
}

void Door::close() {
    listener_.reset();
    waiting_.clear();
}

}  // namespace wq::functions::coprocess
