#include "node/launcher/environment_shell.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/child.h"
#include "base/text.h"
#include "node/process/process_tree.h"

namespace wq::node::launcher {

namespace {

constexpr const char* no_pipe =
    "no descriptors are left for the shell of `#!` lines: raise their limit (ulimit -n)";

bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
    int ends[2] = {-1, -1};
    const bool made = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    read_end.reset(made ? ends[0] : -1);
    write_end.reset(made ? ends[1] : -1);
    return made;
}

// What sets a task's variables in its subshell. A line of the list may have named mpirun's hosts; that stays.
std::string exports_of(const std::vector<std::string>& entries) {
    std::string always;
    std::string unless_set;
    for (const std::string& entry : entries) {
        const std::string name = entry.substr(0, entry.find('='));
        const std::string word = " " + name + "=" + single_quoted(entry.substr(name.size() + 1));
        if (std::ranges::find(process::host_file_variables, name) == process::host_file_variables.end())
            always += word;
        else
            unless_set += "; command test \"${" + name + "+x}\" || command export" + word;
    }
    return "; command export" + always + unless_set;
}

// In "/proc/1763/fd/15: line 1: cd: x: No such file or directory", nothing before "cd" helps users.
std::string without_script_name(const std::string& text, const std::string& script) {
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find('\n') + 1);
        if (line.empty()) line = rest;
        rest.remove_prefix(line.size());
        if (line.starts_with(script + ": ")) {
            line.remove_prefix(script.size() + 2);
            std::string_view number = line;  // "line 1: " of bash, "1: " of dash
            if (number.starts_with("line ")) number.remove_prefix(5);
            const std::size_t end = number.find_first_not_of("0123456789");
            if (end != 0 && end != std::string_view::npos && number.substr(end).starts_with(": "))
                line = number.substr(end + 2);
        }
        out += line;
    }
    return out;
}

}  // namespace

EnvironmentShell::EnvironmentShell(std::string shell, std::vector<std::string> environment,
                                   std::uint64_t output_limit, const rlimit* files, ShellListener& listener)
    : shell_(std::move(shell)),
      environment_(std::move(environment)),
      output_limit_(output_limit),
      files_(files),
      listener_(listener),
      fd_folder_("/proc/" + std::to_string(getpid()) + "/fd/") {
    out_.renew();
    err_.renew();
    make_pipe(reply_read_, reply_write_);
}

void EnvironmentShell::add_line(EnvironmentLine line) {
    if (lines_.empty() || lines_.back().position < line.position) lines_.push_back(std::move(line));
}

void EnvironmentShell::feed(Lane& lane, const machine::CpuMask& mask) {
    lane_ = &lane;
    mask_ = mask;
    restarts_ = 0;
    advance();
}

void EnvironmentShell::abandon() {
    Lane* const lane = std::exchange(lane_, nullptr);
    discard();
    state_ = State::idle;
    if (lane != nullptr) listener_.task_not_started(*lane, {});
}

// Takes the next step towards starting the task of lane_.
void EnvironmentShell::advance() {
    const std::uint64_t position = lane_->order.order.environment_position;
    const bool too_far = done_ > 0 && lines_[done_ - 1].position > position;
    if (too_far) discard();
    if (pid_ == 0) {
        if (auto problem = launch()) return give_up(std::move(*problem));
    }
    if (done_ < lines_.size() && lines_[done_].position <= position) return run_line(lines_[done_].text);
    begin_task();
}

// Returns nullopt if the shell runs.
std::optional<StartProblem> EnvironmentShell::launch() {
    // Without these its lines would wait for answers forever, and they are created only once.
    const bool heard = reply_read_.valid() && out_.has_pipe() && err_.has_pipe();
    if (!heard) return StartProblem{no_pipe};
    if (!make_pipe(script_read_, script_write_)) return StartProblem{no_pipe, true};
    script_text_.clear();
    ++generation_;
    done_ = 0;
    script_name_ = fd_folder_ + std::to_string(script_read_.get());
    std::array<char*, 3> argv{shell_.data(), script_name_.data(), nullptr};
    std::vector<char*> envp;
    for (std::string& entry : environment_) envp.push_back(entry.data());
    envp.push_back(nullptr);
    process::SpawnPlan plan;
    plan.file = shell_.c_str();
    plan.argv = argv.data();
    plan.envp = envp.data();
    plan.out = out_.writer_path();
    plan.err = err_.writer_path();
    plan.files = files_;
    plan.own_group = false;  // our group: separates its processes from those of tasks
    const process::Spawned child = process::spawn(plan, stack_);
    pid_ = std::max(child.pid, 0);
    if (pid_ != 0) return std::nullopt;
    if (const char* const short_of = process::shortage(child.error)) return StartProblem{short_of, true};
    return StartProblem{"cannot execute '" + shell_ + "': " + std::strerror(child.error)};
}

// Ends the shell and all that it started, including a subshell that waits for its go.
void EnvironmentShell::discard() {
    if (pid_ > 0) process::signal_tree(pid_, SIGKILL);
    if (subshell_ > 0) ::kill(subshell_, SIGKILL);
    pid_ = subshell_ = 0;
    if (lane_ != nullptr) {
        lane_->go_read.reset();
        lane_->go_write.reset();
    }
    script_read_.reset();
    script_write_.reset();
    script_text_.clear();
    listener_.shell_gone();
}

// The word is unique, so that only the subshell of this start accepts it.
std::string EnvironmentShell::go_word() const {
    return std::to_string(generation_) + "." + std::to_string(restarts_) + "." +
           std::to_string(lane_->order.serial);
}

void EnvironmentShell::write_script(const std::string& text) {
    script_text_ += text;
    on_script_room();
}

void EnvironmentShell::on_script_room() {
    const ssize_t put = write(script_write_.get(), script_text_.data(), script_text_.size());
    if (put > 0) script_text_.erase(0, static_cast<std::size_t>(put));
}

// Each builtin is called with `command`, because a list may define functions of the same name, and an error
// in a special builtin would end dash.
void EnvironmentShell::run_line(const std::string& text) {
    state_ = State::running_line;
    out_.begin(output_limit_);
    err_.begin(output_limit_);
    write_script("command eval " + single_quoted(text) + "\ncommand echo \"e " + std::to_string(generation_) +
                 " $?\" >" + fd_folder_ + std::to_string(reply_write_.get()) + "\n");
}

void EnvironmentShell::begin_task() {
    state_ = State::starting_task;
    subshell_ = 0;
    if (!make_pipe(lane_->go_read, lane_->go_write)) return give_up({no_pipe, true});
    const process::Order& order = lane_->order.order;
    const process::TaskFacts facts{order.task, order.attempt, order.give, lane_->cores_list,
                                   lane_->visible_gpus};
    const std::string reply = " >" + fd_folder_ + std::to_string(reply_write_.get());
    const std::string generation = std::to_string(generation_);
    std::string text = "( ( command read wq_go <" + fd_folder_ + std::to_string(lane_->go_read.get()) +
                       " && command test \"$wq_go\" = " + go_word() +
                       " || command exit 125; command unset wq_go" +
                       exports_of(lane_->environment.differences(facts, order.variables));
    for (const auto& [name, value] : order.variables)
        if (!value) text += "; command unset " + name;
    if (!order.directory.empty())
        text += "; command cd -- " + single_quoted(order.directory) + " || exit " +
                std::to_string(engine::model::exit_cannot_execute);
    text += "; command eval " + single_quoted(order.text) + " ) </dev/null >" + fd_folder_ +
            std::to_string(lane_->out.read_end()) + " 2>" + fd_folder_ +
            std::to_string(lane_->err.read_end()) + " & command echo \"p " + generation + " $!\"" + reply +
            " ); command echo \". " + generation + " 0\"" + reply + "\n";
    write_script(text);
}

void EnvironmentShell::on_reply() {
    std::array<char, 512> buffer;
    for (ssize_t got = 0; (got = read(reply_read_.get(), buffer.data(), buffer.size())) > 0;)
        reply_text_.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = reply_text_.find('\n')) != std::string::npos;) {
        const std::string line = reply_text_.substr(0, end);
        reply_text_.erase(0, end + 1);
        on_line(line);
    }
}

void EnvironmentShell::on_line(const std::string& line) {
    char kind = 0;
    unsigned long long generation = 0;
    int number = 0;
    if (std::sscanf(line.c_str(), "%c %llu %d", &kind, &generation, &number) != 3 ||
        generation != generation_)
        return;
    if (kind == 'e' && state_ == State::running_line) {
        EnvironmentOutput output = take_output(number);
        ++done_;
        if (number != 0 || !output.output.out.empty() || !output.output.err.empty())
            listener_.line_ended(std::move(output));
        if (lane_ != nullptr) advance();
    } else if (kind == 'p' && state_ == State::starting_task) {
        subshell_ = number;
    } else if (kind == '.' && state_ == State::starting_task) {
        release_task();
    }
}

EnvironmentOutput EnvironmentShell::take_output(int exit_code) {
    out_.drain();
    err_.drain();
    std::string err = without_script_name(err_.take("stderr"), script_name_);
    return {lines_[done_].position, exit_code, {out_.take("stdout"), std::move(err)}};
}

void EnvironmentShell::release_task() {
    const pid_t task = subshell_;
    if (task <= 0 || setpgid(task, task) != 0) return try_again("the shell could not fork a subshell");
    subshell_ = 0;
    if (mask_.bytes() != 0) mask_.apply_to(task);
    const std::string word = go_word() + "\n";
    Lane& lane = *std::exchange(lane_, nullptr);
    state_ = State::idle;
    lane.pid = task;
    listener_.task_started(lane);
    // Written only after the launcher knows its process, because a task may end at once.
    if (write(lane.go_write.get(), word.data(), word.size()) < 0) ::kill(task, SIGKILL);
}

// Tries again with a new shell. If several shells fail, no process can be forked.
void EnvironmentShell::try_again(std::string reason) {
    discard();
    if (++restarts_ < most_restarts) return advance();
    give_up({std::move(reason), true});
}

void EnvironmentShell::give_up(StartProblem problem) {
    state_ = State::idle;
    listener_.task_not_started(*std::exchange(lane_, nullptr), std::move(problem));
}

void EnvironmentShell::died(int status) {
    pid_ = 0;
    const bool in_line = state_ == State::running_line;
    discard();
    if (in_line) {
        EnvironmentOutput output = take_output(exit_code_of(status));
        state_ = State::idle;
        const EnvironmentExit exit{output.position, output.exit_code};
        if (!output.output.out.empty() || !output.output.err.empty()) listener_.line_ended(std::move(output));
        listener_.line_left(exit, *std::exchange(lane_, nullptr));
    } else if (state_ == State::starting_task) {
        try_again("the worker's shell was killed while it forked a subshell");
    }
}

ShellWatch::ShellWatch(EnvironmentShell& shell, process::Poller& poller, OutputWatch& outputs,
                       usage::Leftovers& leftovers)
    : shell_(shell), poller_(poller), outputs_(outputs), leftovers_(leftovers) {
    poller_.add(shell_.reply(), process::PollSource::shell_reply, EPOLLIN);
}

void ShellWatch::ready(process::PollSource source) {
    switch (source) {
        case process::PollSource::shell_reply:
            shell_.on_reply();
            return watch_descriptors();
        case process::PollSource::shell_script:
            shell_.on_script_room();
            return watch_descriptors();
        case process::PollSource::shell_out:
            return outputs_.drain(shell_.out(), source, 0);
        case process::PollSource::shell_err:
            return outputs_.drain(shell_.err(), source, 0);
        default:
            return;
    }
}

void ShellWatch::watch_descriptors() {
    if (shell_.generation() != generation_) {
        generation_ = shell_.generation();
        script_in_poller_ = false;  // a new pipe
        leftovers_.add_own(shell_.pid());
        outputs_.watch_stream(shell_.out(), process::PollSource::shell_out, 0);
        outputs_.watch_stream(shell_.err(), process::PollSource::shell_err, 0);
    }
    if (!shell_.script_pending()) return;
    if (std::exchange(script_in_poller_, true))
        poller_.change(shell_.script(), process::PollSource::shell_script, EPOLLOUT | EPOLLONESHOT);
    else
        poller_.add(shell_.script(), process::PollSource::shell_script, EPOLLOUT | EPOLLONESHOT);
}

}  // namespace wq::node::launcher
