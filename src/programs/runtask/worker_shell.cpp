#include "programs/runtask/worker_shell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/child.h"
#include "base/random_bits.h"
#include "base/read_write.h"
#include "base/shortage.h"
#include "node/process/process_tree.h"

namespace wq::programs::runtask {

namespace {

constexpr Duration between_kills = std::chrono::milliseconds(200);

}  // namespace

void TimeLimits::begin(TaskKey key, std::optional<Instant> limit, std::unique_ptr<LineProcesses> processes) {
    const std::lock_guard lock(mutex_);
    if (end_at_once_.erase(key) != 0) limit = instant_now();
    lines_[key] = {limit, std::move(processes), false};
}

void TimeLimits::end_now(TaskKey key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = lines_.find(key); found != lines_.end())
        found->second.limit = instant_now();
    else
        end_at_once_.insert(key);
}

bool TimeLimits::end(TaskKey key) {
    const std::lock_guard lock(mutex_);
    const auto ended = lines_.extract(key);
    if (ended.empty() || !ended.mapped().exceeded) return false;
    ended.mapped().processes->kill(LineProcesses::Signal::kill);
    return true;
}

void TimeLimits::enforce(Instant now) {
    const std::lock_guard lock(mutex_);
    for (auto& [key, line] : lines_) {
        if (!line.limit || *line.limit > now) continue;
        line.limit = now + between_kills;
        if (!line.processes->runs()) continue;  // not yet, or no more
        line.processes->kill(line.exceeded ? LineProcesses::Signal::kill : LineProcesses::Signal::gentle);
        line.exceeded = true;
    }
}

std::optional<Instant> TimeLimits::next() const {
    const std::lock_guard lock(mutex_);
    std::optional<Instant> next;
    for (const auto& [key, line] : lines_) earliest(next, line.limit);
    return next;
}

namespace {

std::vector<pid_t> children_of(pid_t pid) {
    node::process::ChildLists lists;
    lists.renew();
    std::vector<pid_t> found;
    lists.append(pid, node::process::ChildLists::Forkers::only_thread, found);
    return found;
}

std::vector<pid_t> own_children() {
    node::process::ChildLists lists;
    lists.renew();
    std::vector<pid_t> found;
    lists.append(::getpid(), node::process::ChildLists::Forkers::any_thread, found);
    return found;
}

std::set<pid_t> kill_tree(pid_t pid) {
    const std::vector<pid_t> below = node::process::descendants_of(pid);
    std::set<pid_t> all(below.begin(), below.end());
    all.insert(pid);
    for (const pid_t one : all) ::kill(one, SIGKILL);
    return all;
}

// A child that nobody has reaped yet.
bool is_dead(pid_t pid) {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == pid;
}

// Amid an exec a process has no environment; what else we have started has one.
bool may_be_of(pid_t pid, const char* variable, const std::string& value) {
    const auto known = node::process::environment_of(pid, variable);
    if (known) return *known == value;
    return text_of_file("/proc/" + std::to_string(pid) + "/environ").empty();
}

std::vector<pid_t> roots(pid_t host, pid_t shell) {
    std::vector<pid_t> found = children_of(host);
    std::ranges::copy(children_of(shell), std::back_inserter(found));
    std::erase(found, shell);
    return found;
}

bool catches(pid_t pid, int signal) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    const std::string name = "SigCgt:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return (std::strtoull(line.c_str() + name.size(), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

// A shell says aloud that a child was killed, except by SIGPIPE.
int gentle_signal(pid_t pid) {
    return catches(pid, SIGTERM) ? SIGTERM : SIGPIPE;
}

}  // namespace

ForegroundProcesses::ForegroundProcesses(pid_t host, pid_t shell)
    : host_(host), shell_(shell), older_(roots(host, shell)) {
    std::ranges::sort(older_);
}

std::vector<pid_t> ForegroundProcesses::younger(std::vector<pid_t> pids) const {
    std::ranges::sort(pids);
    std::vector<pid_t> found;
    std::ranges::set_difference(pids, older_, std::back_inserter(found));
    return found;
}

bool ForegroundProcesses::runs() const {
    return !younger(children_of(shell_)).empty();
}

void ForegroundProcesses::kill(Signal signal) const {
    for (const pid_t pid : younger(roots(host_, shell_))) {
        const std::vector<pid_t> below = node::process::descendants_of(pid);
        ::kill(pid, signal == Signal::gentle ? gentle_signal(pid) : SIGKILL);
        for (const pid_t other : below) ::kill(other, SIGKILL);
    }
}

bool BackgroundProcesses::runs() const {
    const std::vector<pid_t> children = children_of(host_);
    return std::ranges::find(children, task_) != children.end();
}

void BackgroundProcesses::kill(Signal) const {
    for (const pid_t pid : children_of(host_))
        if (pid == task_ || node::process::environment_of(pid, task_key_variable) == key_)
            node::process::signal_tree(pid, SIGKILL);
}

void kill_services(pid_t host, const std::vector<pid_t>& tasks) {
    for (const pid_t pid : children_of(host)) {
        const bool of_task = std::ranges::find(tasks, pid) != tasks.end() ||
                             node::process::environment_of(pid, task_key_variable).has_value();
        if (!of_task) node::process::signal_tree(pid, SIGKILL);
    }
}

void kill_adopted(const char* variable, const std::string& value) {
    std::set<pid_t> killed;
    std::set<pid_t> dead;  // perhaps since the list was made: then it lacked their children
    for (bool again = true; again;) {
        again = false;
        for (const pid_t pid : own_children()) {
            if (is_dead(pid)) {
                again |= dead.insert(pid).second;
                if (killed.contains(pid)) ::waitpid(pid, nullptr, 0);
            } else if (may_be_of(pid, variable, value)) {
                killed.merge(kill_tree(pid));
                if (::kill(pid, SIGKILL) != 0) continue;  // it has another user's rights
                ::waitpid(pid, nullptr, 0);
                again = true;
            }
        }
    }
}

namespace {

constexpr const char* mark_variable = "RUNTASK_SHELL";
constexpr int killed_exit_code = 128 + SIGKILL;
constexpr int cannot_start_exit_code = 126;
constexpr int most_starts = 3;

Error shell_error(const std::string& what) {
    return refused_by_system("cannot " + what, errno, ExitCode::internal);
}

bool open_pipe(Descriptor& read_end, Descriptor& write_end) {
    Pipe both = wq::open_pipe();
    read_end = std::move(both.read);
    write_end = std::move(both.write);
    return read_end.valid();
}

std::string path_of(const Descriptor& file) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
}

// A file without a name, so that it is gone when we are.
Descriptor open_output_file() {
    const char* const folder = std::getenv("TMPDIR");
    std::string path =
        std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/runtask-XXXXXX";
    Descriptor file(::mkostemp(path.data(), O_CLOEXEC | O_APPEND));
    if (file.valid()) ::unlink(path.c_str());
    return file;
}

}  // namespace

WorkerShell::WorkerShell(Settings settings)
    : settings_(std::move(settings)),
      mark_(std::to_string(::getpid()) + "." + std::to_string(random_bits())),
      host_({.program = "runtask", .own_group = false, .ends = node::process::CommandHost::Ends::of_all}),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // of what a host leaves that is killed
}

WorkerShell::~WorkerShell() = default;

void WorkerShell::export_variables(Exports exports) {
    exports_ = std::move(exports);
    exports_told_ = false;
}

void WorkerShell::begin_environment(std::string line) {
    steps_.push_back({State::environment, 0, std::move(line)});
}

void WorkerShell::begin_task(TaskKey key, std::string line) {
    tasks_.try_emplace(key);
    steps_.push_back({settings_.background ? State::starting : State::task, key, std::move(line)});
}

void WorkerShell::add_descriptors(std::vector<pollfd>& to) const {
    if (host_.descriptor() >= 0) to.push_back({host_.descriptor(), POLLIN, 0});
    if (answer_.valid()) to.push_back({answer_.get(), POLLIN, 0});
}

Result<std::vector<ShellEvent>> WorkerShell::take_events(Instant now) {
    do {
        read_answers();
        read_ends();
        limits_.enforce(now);
        if (auto run = run_steps(); !run) return run.error();
    } while (host_.has_end());
    return std::exchange(events_, {});
}

Status WorkerShell::run_steps() {
    while (state_ == State::idle && !steps_.empty()) {
        if (shell_ <= 0) {
            if (auto started = start_shell(); !started) return started;
            std::deque<Step> again;
            for (const std::string& line : lines_) again.push_back({State::replay, 0, line});
            steps_.insert(steps_.begin(), again.begin(), again.end());
            continue;
        }
        if (steps_.front().key != current_.key || steps_.front().kind != current_.kind) starts_ = 0;
        current_ = std::move(steps_.front());
        steps_.pop_front();
        if (auto run = run_step(); !run) return run;
    }
    return success();
}

Status WorkerShell::start_shell() {
    step_.reset(::memfd_create("runtask", MFD_CLOEXEC));
    if (!step_.valid() || !open_pipe(wake_read_, wake_) || !open_pipe(answer_, answer_write_))
        return shell_error("open a pipe");
    set_nonblocking(answer_);
    paths_ = {path_of(wake_read_), path_of(step_), path_of(answer_write_), settings_.shell.ends_with("bash")};
    answer_text_.clear();
    node::process::CommandLine command{settings_.shell,
                                       {settings_.shell, "-c", shell_program(paths_), "runtask"},
                                       {std::string(mark_variable) + "=" + mark_}};
    for (char** entry = ::environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with(std::string(mark_variable) + "="))
            command.environment.emplace_back(*entry);
    const bool has_input = !settings_.background && ::fcntl(STDIN_FILENO, F_GETFD) >= 0;
    try {
        if (auto started = host_.start(command, has_input ? STDIN_FILENO : null_.get()); !started)
            return Error{started.error().code,
                         "cannot start " + settings_.shell + ": " + started.error().message};
    } catch (const std::runtime_error& problem) {
        return Error{ExitCode::internal, problem.what()};
    }
    shell_ = host_.command();
    exports_told_ = false;
    options_.clear();
    killing_all_ = false;
    return success();
}

Status WorkerShell::run_step() {
    state_ = current_.kind;
    if (state_ == State::task || state_ == State::starting) {
        if (auto begun = begin_task(); !begun) return begun;
    }
    std::string text = exports_told_ ? "" : export_text(exports_);
    exports_told_ = true;
    return send_lines(text + text_of(current_) + "\n");
}

Status WorkerShell::begin_task() {
    Task& task = tasks_[current_.key];
    if (state_ == State::task) {
        limit(current_.key, std::make_unique<ForegroundProcesses>(host_.pid(), shell_));
        return success();
    }
    early_end_.reset();
    if (!open_pipe(task.go_read, task.go)) return shell_error("open a pipe");
    if (!task.output.valid()) task.output = open_output_file();
    return task.output.valid() ? success() : Status(shell_error("open a file in TMPDIR for a line's output"));
}

std::string WorkerShell::text_of(const Step& step) const {
    switch (step.kind) {
        case State::task:
            return task_step(step.line, options_, paths_);
        case State::starting:
            return background_step(step.line, options_, background_of(step.key), paths_);
        case State::idle:
        case State::environment:
        case State::replay:
            break;
    }
    return environment_step(step.line, options_, paths_);
}

BackgroundTask WorkerShell::background_of(TaskKey key) const {
    const Task& task = tasks_.at(key);
    return {key, path_of(task.output), path_of(task.go_read)};
}

Status WorkerShell::send_lines(const std::string& text) {
    if (::ftruncate(step_.get(), 0) != 0 || !write_all_at(step_.get(), text, 0))
        return shell_error("tell the shell a line");
    if (::write(wake_.get(), "\n", 1) != 1) return shell_error("wake the shell");
    return success();
}

void WorkerShell::read_answers() {
    std::array<char, 4096> buffer;
    for (ssize_t got = 0; answer_.valid() && (got = ::read(answer_.get(), buffer.data(), buffer.size())) > 0;)
        answer_text_.append(buffer.data(), static_cast<std::size_t>(got));
    while (const auto answer = take_answer(answer_text_)) on_answer(*answer);
}

void WorkerShell::on_answer(const ShellAnswer& answer) {
    if (answer.line && (state_ == State::environment || state_ == State::replay)) {
        on_line(*answer.line);
    } else if (answer.task && state_ == State::task) {
        state_ = State::idle;
        end_task(current_.key, answer.task->exit_code);
    } else if (answer.start && state_ == State::starting) {
        tasks_[current_.key].pid = answer.start->pid;
    } else if (answer.orphan && state_ == State::starting) {
        on_orphan();
    }
}

void WorkerShell::on_line(const LineAnswer& answer) {
    const State was = std::exchange(state_, State::idle);
    options_ = answer.options;
    if (was == State::replay) return;
    lines_.push_back(current_.line);
    events_.emplace_back(std::in_place_type<EnvironmentLineEnded>, EnvironmentLineEnded{answer});
}

// Its end is ours to know from now on.
void WorkerShell::on_orphan() {
    state_ = State::idle;
    Task& task = tasks_[current_.key];
    const auto early = std::exchange(early_end_, std::nullopt);
    if (early) return end_task(current_.key, exit_code_of(*early));
    // Its parent may have reaped it.
    const bool lives = task.pid > 0 && ::kill(task.pid, 0) == 0;
    if (!lives) return end_task(current_.key, cannot_start_exit_code);
    limit(current_.key,
          std::make_unique<BackgroundProcesses>(host_.pid(), task.pid, std::to_string(current_.key)));
    if (::write(task.go.get(), "\n", 1) != 1) ::kill(task.pid, SIGKILL);
}

void WorkerShell::read_ends() {
    for (;;) {
        pollfd ready{host_.descriptor(), POLLIN, 0};
        const bool told = host_.has_end() || (ready.fd >= 0 && ::poll(&ready, 1, 0) > 0);
        if (!told) return;
        const auto end = host_.next_end();
        if (!end) return host_gone();
        on_end(*end);
    }
}

void WorkerShell::on_end(const node::process::CommandHost::End& end) {
    if (end.pid == shell_) return shell_died(end.status);
    for (const auto& [key, task] : tasks_) {
        if (task.pid != end.pid) continue;
        const bool begins = state_ == State::starting && key == current_.key;
        if (!begins) return end_task(key, exit_code_of(end.status));
        early_end_ = end.status;
    }
}

void WorkerShell::shell_died(int status) {
    read_answers();  // what it said before
    shell_ = -1;
    const State was = std::exchange(state_, State::idle);
    if (was == State::environment || was == State::replay) {
        steps_.clear();
        events_.emplace_back(std::in_place_type<ShellLeft>, ShellLeft{exit_code_of(status)});
        return;
    }
    settings_.say("the worker's shell was killed; a new one runs the #! lines again");
    if (was == State::task) end_task(current_.key, exit_code_of(status));
    if (was == State::starting) tasks_[current_.key].pid = 0;
    if (was == State::starting && ++starts_ < most_starts)
        steps_.push_front(current_);
    else if (was == State::starting)
        end_task(current_.key, cannot_start_exit_code);
    clear_up_after_shell();
}

// A service that a `#!` line has started would run twice.
void WorkerShell::clear_up_after_shell() {
    if (!settings_.background) return host_.end_command();
    std::vector<pid_t> pids;
    for (const auto& [key, task] : tasks_) pids.push_back(task.pid);
    kill_services(host_.pid(), pids);
}

// With the shell, and all that lines were running.
void WorkerShell::host_gone() {
    const pid_t shell = std::exchange(shell_, -1);
    kill_adopted(mark_variable, mark_);
    if (shell > 0) ::waitpid(shell, nullptr, WNOHANG);
    const State was = std::exchange(state_, State::idle);
    const bool in_line = was == State::environment || was == State::replay;
    if (in_line && killing_all_) {
        if (was == State::environment) steps_.push_front(current_);
    } else if (in_line) {
        steps_.clear();
        events_.emplace_back(std::in_place_type<ShellLeft>, ShellLeft{killed_exit_code});
    }
    std::erase_if(steps_, [](const Step& step) { return step.key != 0; });
    while (!tasks_.empty()) end_task(tasks_.begin()->first, killed_exit_code);
    killing_all_ = false;
}

void WorkerShell::kill_all() {
    read_answers();
    read_ends();
    killing_all_ = true;
    host_.end_command();
    host_gone();
}

void WorkerShell::kill_all_soon() {
    killing_all_ = true;
    host_.shut_down();
}

void WorkerShell::end_task(TaskKey key, int exit_code) {
    auto ended = tasks_.extract(key);
    if (ended.empty()) return;
    const bool timed_out = limits_.end(key);
    events_.emplace_back(std::in_place_type<TaskEnded>,
                         TaskEnded{key, timed_out ? timeout_exit_code : exit_code, timed_out,
                                   std::move(ended.mapped().output)});
}

void WorkerShell::limit(TaskKey key, std::unique_ptr<LineProcesses> processes) {
    const auto limit = settings_.timeout ? std::optional(instant_now() + *settings_.timeout) : std::nullopt;
    limits_.begin(key, limit, std::move(processes));
}

std::optional<Instant> WorkerShell::enforce_limits(Instant now) {
    limits_.enforce(now);
    return limits_.next();
}

}  // namespace wq::programs::runtask
