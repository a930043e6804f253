#include "node/calls/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "node/process/passed_descriptors.h"
#include "node/process/process_tree.h"
#include "node/process/task_environment.h"

namespace wq::node::calls {

namespace {

constexpr std::size_t longest_news = 4096;
constexpr std::size_t words_told = 600;
constexpr std::size_t most_spare = 16;
constexpr Duration unused_process_limit = std::chrono::seconds(10);  // of a process that calls share
constexpr int most_processes = 3;  // that a call is given, if they end before they begin it
// What users see in lists of processes.
constexpr const char* loader =
    "import socket, sys; link = socket.socket(fileno=int(sys.argv[1])); "
    "exec(link.recv(1 << 20))";

}  // namespace

Interpreter::Interpreter(const InterpreterSettings& settings, process::Poller& poller, Listener& listener)
    : poller_(poller), listener_(listener), asked_since_(instant_now()), since_(asked_since_) {
    spawn(settings);
}

void Interpreter::spawn(const InterpreterSettings& settings) {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return cannot_start("no socket for an interpreter", errno);
    socket_.reset(ends[0]);
    const Descriptor low_end(ends[1]);
    const Descriptor its_end(fcntl(low_end.get(), F_DUPFD_CLOEXEC, 10));  // unpack.sh uses those below
    if (!its_end.valid()) return cannot_start("no descriptor for an interpreter", errno);
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    errors_.reset(memfd_create("interpreter", MFD_CLOEXEC));
    if (!errors_.valid()) return cannot_start("no memory for what an interpreter writes", errno);
    if (::send(socket_.get(), script.data(), script.size(), 0) != std::ssize(script))
        return cannot_start("an interpreter cannot be told what to do", errno);
    const std::string error_path = "/proc/self/fd/" + std::to_string(errors_.get());
    const std::string place = std::to_string(its_end.get());
    std::vector<const char*> argv{settings.file.c_str()};
    if (settings.archive >= 0) argv = {"/bin/sh", "-c", unpack.data(), "sh"};
    argv.insert(argv.end(), {"-u", "-c", loader, place.c_str()});
    if (settings.fresh) argv.push_back("fresh");
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (const std::string& entry : settings.environment) envp.push_back(const_cast<char*>(entry.c_str()));
    std::string mark = std::string(process::interpreter_mark) + "=1";
    envp.insert(envp.end(), {mark.data(), nullptr});
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
    if (pid_ == 0) cannot_start(std::string("cannot execute ") + plan.file, child.error);
}

void Interpreter::cannot_start(const std::string& what, int error) {
    const char* const short_of = process::shortage(error);
    may_pass_ = short_of != nullptr;
    why_not_ = what + ": " + (short_of != nullptr ? short_of : strerror(error));
}

Interpreter::~Interpreter() {
    kill();
}

// Until it has started, tar may run below it; later only calls, which go on.
void Interpreter::kill() {
    killed_ = true;
    if (pid_ > 0) ready_ ? static_cast<void>(::kill(pid_, SIGKILL)) : process::signal_tree(pid_, SIGKILL);
    socket_.reset();
    for (const auto& process : processes_) process->dismiss();
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

void Interpreter::start(std::unique_ptr<Request> request) {
    waiting_.push_back(std::move(request));
    give_waiting();
}

void Interpreter::give_waiting() {
    while (!waiting_.empty()) {
        CallProcess* const process = process_for(*waiting_.front());
        if (process == nullptr) break;
        give(*process);
    }
    ask();
}

// A shared one that has run calls is the warmest; a call that shares none must have an unused one.
CallProcess* Interpreter::process_for(const Request& request) const {
    CallProcess* unused = nullptr;
    for (const auto& process : processes_) {
        if (!process->idle()) continue;
        if (process->used() && request.shared) return process.get();
        if (!process->used()) unused = process.get();
    }
    return unused;
}

void Interpreter::give(CallProcess& process) {
    std::unique_ptr<Request> request = std::move(waiting_.front());
    waiting_.pop_front();
    const std::uint64_t serial = request->serial;
    switch (process.give(request)) {
        case CallProcess::Given::yes:
            return listener_.call_given(serial, process.pid());
        case CallProcess::Given::gone:
            return waiting_.push_front(std::move(request));
        case CallProcess::Given::impossible:
            const bool too_large = errno == EMSGSIZE;
            return listener_.call_refused(
                serial,
                too_large
                    ? "its environment variables are too long: those of a function's call may have some "
                      "100,000 bytes"
                    : std::string("it cannot be sent to its process: ") + strerror(errno),
                too_large ? Refusal::lasting : Refusal::may_pass);
    }
}

// Asks for processes for the calls that wait, and for the next ones.
void Interpreter::ask() {
    const auto unused = std::count_if(processes_.begin(), processes_.end(), [](const auto& process) {
        return process->idle() && !process->used();
    });
    const std::size_t there = static_cast<std::size_t>(unused) + asked_;
    const std::size_t wanted = waiting_.size() + spare();
    if (there >= wanted) return;
    const std::string count = std::to_string(wanted - there);
    if (::send(socket_.get(), count.data(), count.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
    if (asked_ == 0) asked_since_ = instant_now();
    asked_ += wanted - there;
}

// For calls that will need a process of their own.
std::size_t Interpreter::spare() const {
    const auto own = std::count_if(processes_.begin(), processes_.end(), [](const auto& process) {
        return process->request() != nullptr && !process->request()->shared;
    });
    return own == 0 || forks_fail_ ? 0 : std::min(most_spare, 1 + static_cast<std::size_t>(own) / 2);
}

bool Interpreter::receive() {
    std::array<char, longest_news> text;
    for (;;) {
        std::vector<Descriptor> files;
        const ssize_t got = process::receive_descriptors(
            socket_.get(), std::as_writable_bytes(std::span(text)), files, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) break;
        if (got < 0 && errno == EMFILE) continue;  // that process ends at once, which will be told
        if (got <= 0) return false;
        if (const auto report = report_in({text.data(), static_cast<std::size_t>(got)})) take(*report, files);
    }
    give_waiting();
    return true;
}

void Interpreter::take(const InterpreterReport& report, std::vector<Descriptor>& files) {
    since_ = asked_since_ = instant_now();
    switch (report.kind) {
        case InterpreterReport::Kind::started:
            ready_ = true;
            return;
        case InterpreterReport::Kind::forked:
            return take_process(report.pid, files);
        case InterpreterReport::Kind::impossible:
            return handle_failure(report.count, report.why);
        case InterpreterReport::Kind::ended:
            return handle_end(report.pid, report.end);
        case InterpreterReport::Kind::imported:
            return dismiss_outdated();
    }
}

void Interpreter::take_process(pid_t pid, std::vector<Descriptor>& files) {
    if (files.size() != 1 || asked_ == 0) return;
    --asked_;
    has_forked_ = true;
    forks_fail_ = false;
    processes_.push_back(std::make_unique<CallProcess>(pid, std::move(files.front())));
    poller_.add(processes_.back()->descriptor(), process::PollSource::call_process, EPOLLIN,
                static_cast<std::size_t>(pid));
}

void Interpreter::handle_failure(std::size_t count, const std::string& why) {
    forks_fail_ = true;
    for (; count > 0 && asked_ > 0; --count) {
        --asked_;
        if (waiting_.empty()) continue;
        const std::unique_ptr<Request> request = std::move(waiting_.front());
        waiting_.pop_front();
        listener_.call_refused(request->serial, why, Refusal::may_pass);
    }
}

void Interpreter::handle_end(pid_t pid, PythonCallEnd end) {
    const auto found = std::find_if(processes_.begin(), processes_.end(),
                                    [&](const auto& process) { return process->pid() == pid; });
    if (found == processes_.end())
        return handle_failure(1, "no descriptor is left for its process: raise ulimit -n");
    forks_fail_ = false;
    handle_reported_end(**found);
    const std::unique_ptr<CallProcess> process = std::move(*found);
    processes_.erase(found);
    if (process->request() == nullptr) return;
    const std::uint64_t serial = process->request()->serial;
    if (std::unique_ptr<Request> request = process->take_unbegun()) {
        listener_.call_taken_back(serial);
        if (request->processes < most_processes) return waiting_.push_front(std::move(request));
        const std::string words = last_words();
        return listener_.call_refused(
            serial, "its processes ended before they had begun it" + (words.empty() ? "" : ": " + words),
            Refusal::may_pass);
    }
    process->forget_request();  // which holds the streams open
    process->subtract_told(end.usage);
    listener_.call_ended(serial, end);
}

// Processes that were forked before would import again what is imported now.
void Interpreter::dismiss_outdated() {
    for (const auto& process : processes_)
        if (process->idle()) process->dismiss();
}

bool Interpreter::process_ready(pid_t pid) {
    CallProcess* const process = process_of(pid);
    if (process == nullptr) return false;
    handle_reported_end(*process);
    give_waiting();
    return true;
}

// What a process says of its call, if it does.
void Interpreter::handle_reported_end(CallProcess& process) {
    const std::optional<PythonCallEnd> end = process.receive();
    if (!end) return;
    const std::uint64_t serial = process.request()->serial;
    process.forget_request();
    since_ = instant_now();
    forks_fail_ = false;
    listener_.call_ended(serial, *end);
}

std::optional<Instant> Interpreter::silent_since() const {
    std::optional<Instant> first;
    for (const auto& process : processes_)
        if (const auto since = process->ended_since()) first = std::min(first.value_or(*since), *since);
    return first;
}

std::unique_ptr<Request> Interpreter::withdraw(std::uint64_t serial) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const auto& request) { return request->serial == serial; });
    if (found == waiting_.end()) return nullptr;
    std::unique_ptr<Request> request = std::move(*found);
    waiting_.erase(found);
    return request;
}

void Interpreter::dismiss_unused(Instant now) {
    for (const auto& process : processes_)
        if (process->idle() && process->used() && now >= process->since() + unused_process_limit)
            process->dismiss();
}

Instant Interpreter::next_dismissal() const {
    Instant next = Instant::max();
    for (const auto& process : processes_)
        if (process->idle() && process->used())
            next = std::min(next, process->since() + unused_process_limit);
    return next;
}

CallProcess* Interpreter::process_of(pid_t pid) const {
    for (const auto& process : processes_)
        if (process->pid() == pid) return process.get();
    return nullptr;
}

std::deque<std::unique_ptr<Request>> Interpreter::take_requests() {
    for (const auto& process : processes_)
        if (auto request = process->take_away()) {
            listener_.call_taken_back(request->serial);
            waiting_.push_front(std::move(request));
        }
    return std::move(waiting_);
}

std::vector<std::pair<std::uint64_t, pid_t>> Interpreter::running_calls() const {
    std::vector<std::pair<std::uint64_t, pid_t>> calls;
    for (const auto& process : processes_)
        if (process->request() != nullptr) calls.emplace_back(process->request()->serial, process->pid());
    return calls;
}

bool Interpreter::idle() const {
    return asked_ == 0 && waiting_.empty() &&
           std::none_of(processes_.begin(), processes_.end(),
                        [](const auto& process) { return process->request() != nullptr; });
}

}  // namespace wq::node::calls
