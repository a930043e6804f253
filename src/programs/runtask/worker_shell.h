// Kills lines that run for too long, also on another thread, because the worker may wait for the list
// meanwhile.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "node/process/command_host.h"
#include "programs/runtask/shell_text.h"

namespace wq::programs::runtask {

// Names one run of a line. Chosen by the caller, another one for each run.
using TaskKey = std::uint64_t;

// Finds and kills the processes of lines.

// What a line runs. Its pids may be out of date, and belong to others: that is looked at anew at each call.
class LineProcesses {
  public:
    virtual ~LineProcesses() = default;
    virtual bool runs() const = 0;  // the line itself, not only what it left behind
    // gentle: a signal whose victim the shell does not report; lines in the background are killed.
    enum class Signal : std::uint8_t { gentle, kill };
    virtual void kill(Signal signal) const = 0;
};

// The one line that runs in the foreground, made before it begins: what the shell, or the host that adopts
// orphans, has as a child since then. Services that `#!` lines started are older.
class ForegroundProcesses final : public LineProcesses {
  public:
    ForegroundProcesses(pid_t host, pid_t shell);
    bool runs() const override;
    void kill(Signal signal) const override;

  private:
    std::vector<pid_t> younger(std::vector<pid_t> pids) const;

    pid_t host_;
    pid_t shell_;
    std::vector<pid_t> older_;  // ascending
};

// A line in the background, a child of the host, and the orphans of the host that have the line's key in
// their environment.
class BackgroundProcesses final : public LineProcesses {
  public:
    BackgroundProcesses(pid_t host, pid_t task, std::string key)
        : host_(host), task_(task), key_(std::move(key)) {}
    bool runs() const override;
    void kill(Signal) const override;

  private:
    pid_t host_;
    pid_t task_;
    std::string key_;
};

// What the host adopted and is neither of these tasks nor of any other: services of `#!` lines.
void kill_services(pid_t host, const std::vector<pid_t>& tasks);

// For a subreaper whose host was killed: what that had started, all of it with this variable in its
// environment.
void kill_adopted(const char* variable, const std::string& value);

class TimeLimits {
  public:
    // `limit`: nullopt: none.
    void begin(TaskKey key, std::optional<Instant> limit, std::unique_ptr<LineProcesses> processes);
    // Its limit is now or, if it has not begun, when it begins.
    void end_now(TaskKey key);
    // The line has ended; what is left of one that ran for too long is killed. Returns whether it did.
    bool end(TaskKey key);

    // Kills what is due. A line that has ended, unnoticed so far, ended in time.
    void enforce(Instant now);
    std::optional<Instant> next() const;

  private:
    struct Limited {
        std::optional<Instant> limit;
        std::unique_ptr<LineProcesses> processes;
        bool exceeded = false;
    };
    mutable std::mutex mutex_;
    std::map<TaskKey, Limited> lines_;
    std::set<TaskKey> end_at_once_;
};

// The shell of a worker. It lives as long as the worker, so that `cd`, variables, functions, aliases, umask
// and limits of `#!` lines are seen by the lines below them, which run in subshells of it.
//
//   runtask ---- host (node/process/command_host.h) ---- shell ---- subshell of a line
//
// If runtask is killed, the host ends all that lines have started. If a line kills the shell, it is started
// anew, and runs again the `#!` lines that it had run.

inline constexpr int timeout_exit_code = 124;

struct EnvironmentLineEnded {
    LineAnswer answer;
};
struct ShellLeft {  // by `exit` in a `#!` line, or it was killed in one
    int exit_code = 0;
};
struct TaskEnded {
    TaskKey key = 0;
    int exit_code = 0;
    bool timed_out = false;
    Descriptor output;  // of a background task: a file
};
using ShellEvent = std::variant<EnvironmentLineEnded, ShellLeft, TaskEnded>;

class WorkerShell {
  public:
    struct Settings {
        std::string shell;        // path
        bool background = false;  // for more than one task at once
        std::optional<Duration> timeout;
        std::function<void(const std::string&)> say;
    };
    explicit WorkerShell(Settings settings);  // throws std::runtime_error: no process can be started
    ~WorkerShell();

    void export_variables(Exports exports);  // for all lines that begin from now on
    void forget_lines() { lines_.clear(); }  // a new shell does not run them

    // Whether a line may begin. The shell takes one after the other; of tasks in the background, it takes the
    // next when one has begun.
    bool ready() const { return steps_.empty() && state_ == State::idle; }
    void begin_environment(std::string line);  // a `#!` line
    void begin_task(TaskKey key, std::string line);
    std::size_t tasks() const { return tasks_.size(); }  // begun and not ended

    // To wait: for the descriptors, and until next().
    void add_descriptors(std::vector<pollfd>& to) const;
    std::optional<Instant> next() const { return limits_.next(); }
    // On any thread: kills lines that run for too long. Returns next().
    std::optional<Instant> enforce_limits(Instant now);
    // Ends a line as if its time were over; one that has not begun, when it begins.
    void end_now(TaskKey key) { limits_.end_now(key); }
    // What has happened. Errors: the shell cannot be started.
    Result<std::vector<ShellEvent>> take_events(Instant now);

    // Kills all lines that run, and what they left behind. Their ends are events, with exit code 137. (Those
    // that had ended before, unnoticed so far, keep theirs.)
    void kill_all();
    // On any thread: the same, soon.
    void kill_all_soon();

  private:
    enum class State { idle, environment, replay, task, starting };
    struct Step {
        State kind = State::idle;
        TaskKey key = 0;
        std::string line;
    };
    struct Task {
        // In the background:
        pid_t pid = 0;
        Descriptor go_read, go;
        Descriptor output;
    };

    Status start_shell();
    Status run_steps();
    Status run_step();
    Status begin_task();
    Status send_lines(const std::string& text);
    std::string text_of(const Step& step) const;
    BackgroundTask background_of(TaskKey key) const;
    void read_answers();
    void on_answer(const ShellAnswer& answer);
    void on_line(const LineAnswer& answer);
    void on_orphan();
    void read_ends();
    void on_end(const node::process::CommandHost::End& end);
    void shell_died(int status);
    void host_gone();
    void end_task(TaskKey key, int exit_code);
    void limit(TaskKey key, std::unique_ptr<LineProcesses> processes);
    void clear_up_after_shell();

    Settings settings_;
    std::string mark_;  // in the environment of all that the shell starts
    node::process::CommandHost host_;
    Descriptor null_;

    Descriptor wake_read_, wake_, step_, answer_, answer_write_;
    ShellPaths paths_;
    std::string answer_text_;
    pid_t shell_ = -1;
    State state_ = State::idle;
    Step current_;
    int starts_ = 0;                // of current_
    std::optional<int> early_end_;  // of current_, before it is told to begin: its status
    std::deque<Step> steps_;

    Exports exports_;
    bool exports_told_ = false;
    std::string options_;             // of `set`, for lines
    std::vector<std::string> lines_;  // `#!` lines that were run
    std::map<TaskKey, Task> tasks_;
    TimeLimits limits_;
    std::atomic<bool> killing_all_ = false;
    std::vector<ShellEvent> events_;
};

}  // namespace wq::programs::runtask
