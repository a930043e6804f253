#include "interpreters/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpreters/script.h"
#include "process/passed_descriptors.h"
#include "process/process_tree.h"

namespace wq::interpreters {

namespace {

constexpr std::size_t longest_news = 4096;
constexpr std::size_t words_told = 600;

// Fields end with a NUL, which no name and no variable has.
std::string to_bytes(const Request& request) {
    std::string text = std::to_string(request.serial) + '\0' + request.directory + '\0' + request.group +
                       '\0' + request.cores + '\0';
    for (const std::string& entry : request.environment) text += entry + '\0';
    return text;
}

}  // namespace

Interpreter::Interpreter(const InterpreterSettings& settings) : since_(instant_now()) {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        why_not_ = std::string("no socket for an interpreter: ") + strerror(errno);
        return;
    }
    socket_.reset(ends[0]);
    const Descriptor low_end(ends[1]);
    const Descriptor its_end(fcntl(low_end.get(), F_DUPFD_CLOEXEC, 10));  // unpack.sh uses those below
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    errors_.reset(memfd_create("interpreter", MFD_CLOEXEC));
    if (!its_end.valid() || !errors_.valid()) {
        why_not_ = std::string("no descriptor for an interpreter: ") + strerror(errno);
        return;
    }
    const std::string error_path = "/proc/self/fd/" + std::to_string(errors_.get());
    const std::string place = std::to_string(its_end.get());
    std::vector<const char*> argv{settings.file.c_str()};
    if (settings.archive >= 0) argv = {"/bin/sh", "-c", unpack, "sh"};
    argv.insert(argv.end(), {"-u", "-c", script, place.c_str(), nullptr});
    std::vector<char*> envp;
    for (const std::string& entry : settings.environment) envp.push_back(const_cast<char*>(entry.c_str()));
    envp.push_back(nullptr);
    process::SpawnPlan plan;
    plan.file = argv.front();
    plan.argv = const_cast<char* const*>(argv.data());
    plan.in = settings.archive;
    plan.envp = envp.data();
    plan.out = "/dev/null";
    plan.err = error_path.c_str();
    plan.keep = its_end.get();
    plan.files = settings.files;
    plan.own_group = false;  // our group: separates its processes from those of tasks
    const process::Spawned child = process::spawn(plan, stack_);
    pid_ = std::max(child.pid, 0);
    if (pid_ == 0) why_not_ = std::string("cannot execute '") + plan.file + "': " + strerror(child.error);
}

Interpreter::~Interpreter() {
    kill();
}

// Until it has started, tar may run below it; later only calls, which go on.
void Interpreter::kill() {
    if (pid_ > 0) ready_ ? static_cast<void>(::kill(pid_, SIGKILL)) : process::signal_tree(pid_, SIGKILL);
    socket_.reset();
}

std::string Interpreter::last_words() const {
    struct stat file {};
    if (!errors_.valid() || fstat(errors_.get(), &file) != 0 || file.st_size == 0) return {};
    std::string text(words_told, '\0');
    const off_t from = std::max<off_t>(file.st_size - static_cast<off_t>(words_told), 0);
    const ssize_t got = pread(errors_.get(), text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

bool Interpreter::send(std::unique_ptr<Request> request, Listener& listener) {
    if (asked_.empty()) since_ = instant_now();
    asked_.push_back(std::move(request));
    return write_next(listener);
}

bool Interpreter::write_next(Listener& listener) {
    while (sent_ < asked_.size()) {
        Request& request = *asked_[sent_];
        const std::string bytes = to_bytes(request);
        const std::array files{request.arguments.get(), request.result.get(), request.out.get(),
                               request.err.get()};
        if (process::send_descriptors(socket_.get(), std::as_bytes(std::span(bytes)), files, MSG_NOSIGNAL)) {
            ++sent_;
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
        if (errno == EPIPE || errno == ECONNRESET || errno == EBADF) return false;
        refuse(sent_, bytes.size(), errno, listener);
    }
    return true;
}

void Interpreter::refuse(std::size_t at, std::size_t bytes, int error, Listener& listener) {
    const std::unique_ptr<Request> request = std::move(asked_[at]);
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(at));
    const bool too_large = error == EMSGSIZE;
    listener.call_refused(request->serial,
                          too_large ? "its environment variables have " + std::to_string(bytes) +
                                          " bytes; those of a function's call may have some 100,000"
                                    : std::string("it cannot be sent to an interpreter: ") + strerror(error),
                          !too_large);
}

bool Interpreter::receive(Listener& listener) {
    std::array<char, longest_news> text;
    for (;;) {
        const ssize_t got = recv(socket_.get(), text.data(), text.size() - 1, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (got <= 0) return false;
        text[static_cast<std::size_t>(got)] = '\0';
        take(text.data(), listener);
    }
    return write_next(listener);
}

// It answers requests in order; anything else was not said by it.
bool Interpreter::answers(std::uint64_t serial) {
    if (sent_ == 0 || asked_.front()->serial != serial) return false;
    asked_.pop_front();
    --sent_;
    since_ = instant_now();
    return true;
}

void Interpreter::take(const char* text, Listener& listener) {
    unsigned long long serial = 0;
    char kind = 0;
    int at = 0;
    if (std::sscanf(text, "%c %llu %n", &kind, &serial, &at) != 2) return;
    const char* const rest = text + at;
    switch (kind) {
        case 'h':
            ready_ = true;
            since_ = instant_now();
            return;
        case 'f':
            if (!answers(serial)) return;
            running_calls_[serial] = std::atoi(rest);
            return listener.call_forked(serial, running_calls_[serial]);
        case 'x':
            if (answers(serial)) listener.call_refused(serial, rest, true);
            return;
        case 'e':
            return take_end(serial, rest, listener);
    }
}

void Interpreter::take_end(std::uint64_t serial, const char* text, Listener& listener) {
    End end;
    long user = 0, system = 0;
    rusage& usage = end.usage;
    if (std::sscanf(text, "%d %ld %ld %ld %ld %ld %ld %ld", &end.status, &user, &system, &usage.ru_maxrss,
                    &usage.ru_inblock, &usage.ru_oublock, &usage.ru_nvcsw, &usage.ru_nivcsw) != 8 ||
        running_calls_.erase(serial) == 0)
        return;
    usage.ru_utime = {user / 1000000, user % 1000000};
    usage.ru_stime = {system / 1000000, system % 1000000};
    since_ = instant_now();
    listener.call_ended(serial, end);
}

}  // namespace wq::interpreters
