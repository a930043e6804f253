// A task: what to run and what it needs; and, once Manager::wait() has given it back, what became of it.
//
//   auto task = wq::Task("gzip < a > a.gz").cores(1).memory(512).tag("a");
//
// A Task is a value: copying it copies what was specified and what was measured. Setters return the task, so
// that they can be chained; each has a twin named as in Work Queue's other languages (specify_...).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] wq {

// What the manager says of a task that has ended. Numbers and names are those of Work Queue.
enum class TaskResult : int {
    success = 0,                // it ran to its end: exit_status() says how
    input_missing = 1,          // an input file was not there
    output_missing = 2,         // an output file was not there
    stdout_missing = 4,         // its output could not be kept
    signal = 8,                 // a signal ended it; return_status() is its number
    resource_exhaustion = 16,   // it used more than it was given
    task_timeout = 24,          // its end time came: before it could start, or while it ran
    unknown = 32,               // it could not be started; reason() says why
    forsaken = 40,              // it was killed by our order, or can never run
    max_retries = 48,           // it was tried as often as it may be
    max_running_time = 56,      // it ran longer than running_time_max
    disk_full = 64,             // the worker's disk was full
    monitor_error = 72,         // its resources could not be measured
    output_transfer_error = 80  // its output could not be stored here
};

// "SUCCESS", "INPUT_MISS", "OUTPUT_MISS", "STDOUT_MISS", "SIGNAL", "RESOURCE_EXHAUSTION", "END_TIME",
// "UNKNOWN", "FORSAKEN", "MAX_RETRIES", "MAX_WALL_TIME", "DISK_FULL", "MONITOR_ERROR",
// "OUTPUT_TRANSFER_ERROR".
const char* result_str(TaskResult result);

enum class TaskState : int {
    unknown = 0,            // no such task, or returned by wait() long ago
    ready = 1,              // waits for a worker
    running = 2,            // a worker has it
    waiting_retrieval = 3,  // ended at the worker (never seen here: results come with the news)
    retrieved = 4,          // its result waits for wait()
    done = 5,               // returned by wait()
    canceled = 6
};

// How a worker runs a function; see functions.h.
enum class CallMode : std::uint8_t {
    fork = 0,    // in a child process: whatever it does, the worker lives on
    thread = 1,  // on a thread of the worker, as many at once as it has cores
    direct = 2   // one after the other on a single thread of the worker
};

enum class TaskKind : std::uint8_t {
    command,  // a shell line
    call,     // one call of a function
    range     // calls of a function over a range of indexes, in one submission
};

// Cores and GPUs are counts, of which there are fractions (thousandths); memory and disk are MB of 2^20 bytes.
// -1: not specified.
struct TaskResources {
    double cores = -1;
    std::int64_t memory = -1;
    std::int64_t disk = -1;
    double gpus = -1;
};

// Of one attempt that ended. Times are microseconds; memory and disk are MB of 2^20 bytes.
struct TaskUsage {
    std::int64_t wall_time = 0;
    std::int64_t user_time = 0;  // of those of its processes that others waited for
    std::int64_t system_time = 0;
    // The most at once of all its processes where it was monitored; else that of the largest one.
    std::int64_t memory = 0;
    std::int64_t bytes_read = 0;  // by system calls where it was monitored; else from block devices
    std::int64_t bytes_written = 0;

    // Of all its processes, where it was monitored (Manager::enable_monitoring(), Task::monitor_output());
    // -1: it was not, or its worker's system does not tell.
    double cores = -1;  // the most that it kept busy at once, in a second or more
    std::int64_t cpu_time = -1;
    std::int64_t virtual_memory = -1;  // the most at once, MB
    std::int64_t swap_memory = -1;     // the most at once, MB
    std::int64_t disk = -1;            // the most at once, in its sandbox and its temporary folder
    std::int64_t total_files = -1;     // the most at once, files and folders in these
    std::int64_t bytes_received = -1;  // over TCP
    std::int64_t bytes_sent = -1;
    std::int64_t bandwidth = -1;  // bytes a second: the most, over TCP, both ways
    std::int64_t max_concurrent_processes = -1;
    std::int64_t total_processes = -1;
    std::int64_t context_switches = -1;
};

// How far a range has come: each report of wait() tells what is new since the report before.
struct RangeProgress {
    // Indexes whose call has succeeded since the last report: half-open [first, last), ascending.
    std::vector<std::pair<std::int64_t, std::int64_t>> done;
    std::uint64_t done_now = 0;    // how many these are
    std::uint64_t done_total = 0;  // of the whole range up to now
    std::uint64_t failed_total = 0;
    std::uint64_t size = 0;
    bool complete = false;  // every index has ended: no further report follows
};

// How a file of a task is treated.
struct FileOptions {
    bool cache = false;         // an input: it stays at the worker for other tasks that bring the same content
    bool failure_only = false;  // an output: taken home where the task failed (a result but success, or an
    bool success_only = false;  // exit code but 0), or only where it did not
    bool watch = false;         // an output: what is appended to it comes while the task runs
};

struct TaskData;  // of the implementation

class Task {
  public:
    // ---- what to run ----

    // A shell line. Without shell syntax it is executed directly. It runs in a folder of its own at the worker,
    // which goes with it (on a rank, where it has no files: where the job was started): name files by absolute
    // paths, or let it bring them along.
    explicit Task(std::string command = {});

    // A call of the function that the worker has under `function`, with packed arguments (a msgpack array of
    // them); functions.h makes it from values.
    static Task packed_call(std::string function, std::string arguments, CallMode mode = CallMode::fork);

    // The same from values; needs #include <work_queue/call.h>: Task::call("area", 2.0, 3.5).
    template <class... Arguments>
    static Task call(std::string function, const Arguments&... arguments);

    // Calls of `function` with each index of [first, last) as its one argument. One submission, which takes
    // last - first task ids. Empty ranges are refused by submit().
    static Task range(std::string function, std::int64_t first, std::int64_t last,
                      CallMode mode = CallMode::fork);

    Task(const Task&);
    Task& operator=(const Task&);
    Task(Task&&) noexcept;
    Task& operator=(Task&&) noexcept;
    ~Task();

    // ---- what it needs; each has a default ----

    Task& command(std::string command);
    Task& tag(std::string tag);            // any text of yours; default ""
    Task& category(std::string category);  // tasks that are alike; default "default"
    Task& priority(double priority);  // higher ones start first; default 0; equals in order of submission

    // -1 or 0: not specified, which is as its category says (Manager::specify_category_max_resources());
    // submit() refuses other negative ones, and more than a machine has. Of a command whose category says
    // nothing either, the whole worker without its GPUs; of such a call or range, one core. Else rules 2 to 5
    // of the manual's "Task Resources": share/doc/resources.md.
    Task& cores(double count);        // 0.5: half a core, shared with another such task
    Task& memory(std::int64_t mb);    // MB of 2^20 bytes
    Task& disk(std::int64_t mb);      // MB of 2^20 bytes
    Task& gpus(double count);         // 0.25: a quarter of one
    Task& feature(std::string name);  // runs only on workers that have it; may be called for several
    // ---- its files ----
    //
    // A task with files runs in a folder of its own, its sandbox (WORK_QUEUE_SANDBOX in its environment), which
    // holds its inputs before it begins and is removed when its outputs are home. `name` is a file's name
    // there: a relative path without "..". Paths here are of the manager's process and may be relative to its
    // folder. submit() refuses names that are none, and two files of one name.

    // A file, or a folder with all in it. `name` "": the last part of the path. $OS and $ARCH in the path are
    // those of the worker, as "Linux" and "x86_64". A link in a folder stays one where it leads to a place
    // within, else the file that it leads to is sent. Of a file that cannot be read nothing is started:
    // TaskResult::input_missing.
    Task& input_file(std::string path, std::string name = {}, FileOptions options = {});
    // Bytes of yours as a file.
    Task& input_buffer(std::string bytes, std::string name, FileOptions options = {});
    // The bytes first_byte to last_byte of a file, both included, from 0; what lies behind its end is left out.
    Task& input_piece(std::string path, std::string name, std::uint64_t first_byte, std::uint64_t last_byte,
                      FileOptions options = {});
    // An empty folder.
    Task& input_folder(std::string name);
    // What a URL names, fetched by the worker: http, https, ftp and what else its libcurl knows. An answer of 400
    // or above, one that breaks off, and one that stays away for a minute are TaskResult::input_missing. `name`
    // "": the last part of the URL's path. A cached one is fetched once for all tasks of a worker, and not looked
    // at again.
    Task& input_url(std::string url, std::string name = {}, FileOptions options = {});
    // What a shell line makes, at the worker: the file or folder that it is given as %%, or where it has none,
    // what it writes to stdout. It runs in the sandbox, with what was named before it, and with the task's
    // environment, resources and running_time_max. An exit code but 0, and nothing made, are
    // TaskResult::input_missing. A cached one runs once for all tasks of a worker: in an empty folder, and without
    // the task's environment_variable().
    Task& input_command(std::string line, std::string name, FileOptions options = {});
    // A file or a folder that the task makes. It comes to `path` complete, in place of what is there, or not
    // at all. `name` "": the last part of the path. Where it was not made: TaskResult::output_missing; where it
    // cannot be stored: TaskResult::output_transfer_error. The other outputs come all the same. Watched, a file
    // that grows is there while the task runs, about a second behind; at the end it comes as others do.
    Task& output_file(std::string path, std::string name = {}, FileOptions options = {});

    // How often it may run again because its worker was lost, it took too long
    // (Manager::activate_fast_abort), or it ran out of memory without having said how much it needs: 5 are 6
    // tries. Then it is back with TaskResult::max_retries. Where a worker was lost with it, the last try runs
    // by itself on a worker, so that no neighbour's fault is taken for its own. Below 1, the default: as
    // often as it takes (out of memory: never). A task that fails by itself, whatever its exit code, is not
    // run again.
    Task& max_retries(std::int64_t n);

    // In the task's environment; nothing: taken out of it, whatever the worker has under that name. Of
    // commands, and of calls in a process of their own (CallMode::fork); other calls, and ranges, see the
    // worker's environment.
    Task& environment_variable(std::string name, std::optional<std::string> value);

    Task& running_time_max(std::int64_t seconds);       // killed after so long; 0 or less: no limit
    Task& running_time_min(std::int64_t seconds);       // not started on a worker that ends sooner
    Task& end_time(std::int64_t us_since_epoch);        // expires, or is killed, then
    Task& start_time_min(std::int64_t us_since_epoch);  // not started earlier
    Task& call_mode(CallMode mode);                     // of calls and ranges

    // What the task and all its processes use is measured, and written to wq-PID-task-ID.summary in this
    // folder of the manager's machine (PID: of the manager's process, ID: of the task), which is there when
    // wait() returns the task. submit() makes the folder, and refuses the task where it cannot be written. Of
    // calls in CallMode::thread and direct only times are known, and of ranges nothing is written. "": no.
    Task& monitor_output(std::string folder);

    // The names of the other languages.
    void specify_command(std::string text) { command(std::move(text)); }
    void specify_tag(std::string text) { tag(std::move(text)); }
    void specify_category(std::string name) { category(std::move(name)); }
    void specify_priority(double value) { priority(value); }
    void specify_cores(double n) { cores(n); }
    void specify_memory(std::int64_t mb) { memory(mb); }
    void specify_disk(std::int64_t mb) { disk(mb); }
    void specify_gpus(double n) { gpus(n); }
    void specify_feature(std::string name) { feature(std::move(name)); }
    void specify_max_retries(std::int64_t n) { max_retries(n); }
    void specify_environment_variable(std::string name, std::optional<std::string> value = {}) {
        environment_variable(std::move(name), std::move(value));
    }
    void specify_running_time(std::int64_t us);  // running_time_max in microseconds, rounded up to seconds
    void specify_running_time_max(std::int64_t s) { running_time_max(s); }
    void specify_running_time_min(std::int64_t s) { running_time_min(s); }
    void specify_end_time(std::int64_t us) { end_time(us); }
    void specify_start_time_min(std::int64_t us) { start_time_min(us); }
    void specify_exec_method(CallMode mode) { call_mode(mode); }
    void specify_monitor_output(std::string folder) { monitor_output(std::move(folder)); }
    void specify_input_file(std::string path, std::string name = {}, bool cache = false) {
        input_file(std::move(path), std::move(name), {cache});
    }
    void specify_output_file(std::string path, std::string name = {}, bool cache = false) {
        output_file(std::move(path), std::move(name), {cache});
    }
    void specify_buffer(std::string bytes, std::string name, bool cache = false) {
        input_buffer(std::move(bytes), std::move(name), {cache});
    }
    void specify_file_piece(std::string path, std::string name, std::uint64_t first_byte,
                            std::uint64_t last_byte, bool cache = false) {
        input_piece(std::move(path), std::move(name), first_byte, last_byte, {cache});
    }

    // An input; not recursive: an empty folder of that name.
    void specify_directory(std::string path, std::string name = {}, bool recursive = true, bool cache = false);
    void specify_url(std::string url, std::string name, bool cache = false) {
        input_url(std::move(url), std::move(name), {cache});
    }
    void specify_file_command(std::string line, std::string name, bool cache = false) {
        input_command(std::move(line), std::move(name), {cache});
    }

    // ---- what was specified ----

    TaskKind kind() const;
    const std::string& command() const;   // "" for calls
    const std::string& function() const;  // "" for commands
    const std::string& tag() const;
    const std::string& category() const;
    double priority() const;
    TaskResources resources_requested() const;

    // ---- what became of it: after wait() ----

    std::int64_t id() const;  // as submit() returned it, from 1; 0: not submitted
    TaskResult result() const;
    const char* result_str() const { return wq::result_str(result()); }
    // It ran to its end with exit code 0; of a call: it returned. Of a range: true while it goes on, whatever
    // failed (each failed call is a Task of its own); at its end, whether all calls succeeded.
    bool ok() const;
    int exit_status() const;    // exit code; 0 where it has none
    int return_status() const;  // exit code, or the number of the signal that ended it; -1: it never ran
    // What it wrote to stdout and stderr, which are kept apart; at most output_limit bytes of each.
    const std::string& output() const;  // stdout
    const std::string& error_output() const;
    const std::string& reason() const;  // one line where the result needs one; of a call, what it threw
    const std::string& packed_result() const;  // of a call: msgpack
    // Of a call that succeeded, as a value; needs #include <work_queue/call.h>. Throws ResultError.
    template <class T>
    T result_as() const;
    std::int64_t index() const;             // of a failed call of a range: its index
    const RangeProgress& progress() const;  // of a range

    const std::string& host() const;      // of the worker, "10.0.0.7:40112" or "node3:rank 5"; "" : none
    const std::string& hostname() const;  // "node3"
    std::uint32_t attempts() const;       // of which the last one is told here
    std::uint32_t exhausted_attempts() const;  // of these, that took more than they were given
    TaskResources resources_allocated() const;
    const TaskUsage& resources_measured() const;
    // The limits of those resources that it was ended for; -1: not for that one. See
    // TaskResult::resource_exhaustion.
    TaskResources limits_exceeded() const;

    // Microseconds since 1970-01-01 UTC; 0: it did not come to that.
    std::int64_t submit_time() const;
    std::int64_t commit_time() const;         // given to the worker
    std::int64_t execute_cmd_start() const;   // by the worker's clock
    std::int64_t execute_cmd_finish() const;  // by the worker's clock
    std::int64_t finish_time() const;         // the manager learned of its end
    std::int64_t return_time() const;         // wait() gave it back
    std::int64_t cmd_execution_time() const;  // us: of the last attempt

  private:
    friend struct TaskAccess;
    explicit Task(std::unique_ptr<TaskData> data);
    TaskData& own();
    const TaskData& seen() const;
    std::unique_ptr<TaskData> data_;
};

}  // namespace wq
