// A task: what to run, what it needs and, after Manager::wait() has returned it, its result.
//
//   auto task = wq::Task("gzip < a > a.gz").cores(1).memory(512).tag("a");
//
// A Task is a value: a copy has the same settings and results. Setters return the task, so you can chain
// them. Each also has the name of Work Queue's other languages (specify_...).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] wq {

// The result of a task. Numbers and names are those of Work Queue.
enum class TaskResult : int {
    success = 0,                // it ran to its end with any exit code; 126 or 127: it could not be executed
    input_missing = 1,          // an input file was missing
    output_missing = 2,         // the task did not make an output file
    stdout_missing = 4,         // its output could not be kept
    signal = 8,                 // a signal killed it; return_status() is its number
    resource_exhaustion = 16,   // it exceeded its allocation
    task_timeout = 24,          // its end time came before it started, or while it ran
    unknown = 32,               // it was cancelled, or its worker could not start it; see reason()
    forsaken = 40,              // it can never run, or its manager failed
    max_retries = 48,           // it used up its attempts
    max_running_time = 56,      // it ran longer than running_time_max
    disk_full = 64,             // the worker's disk was full
    monitor_error = 72,         // its usage could not be measured
    output_transfer_error = 80  // its output could not be stored here
};

// "SUCCESS", "INPUT_MISS", "OUTPUT_MISS", "STDOUT_MISS", "SIGNAL", "RESOURCE_EXHAUSTION", "END_TIME",
// "UNKNOWN", "FORSAKEN", "MAX_RETRIES", "MAX_WALL_TIME", "DISK_FULL", "MONITOR_ERROR",
// "OUTPUT_TRANSFER_ERROR".
const char* result_str(TaskResult result);

enum class TaskState : int {
    unknown = 0,            // no such task, or wait() returned it long ago
    ready = 1,              // waiting for a worker
    running = 2,            // dispatched to a worker
    waiting_retrieval = 3,  // never occurs: the report of a task's end has its result
    retrieved = 4,          // ended; wait() has not returned it yet
    done = 5,               // returned by wait()
    canceled = 6
};

// How a worker runs a function; see functions.h.
enum class CallMode : std::uint8_t {
    fork = 0,    // in a child process; a crash does not affect the worker
    thread = 1,  // on a thread of the worker, as many at once as it has cores
    direct = 2   // on a single thread of the worker, one at a time
};

enum class TaskKind : std::uint8_t {
    command,  // a shell line
    call,     // one call of a function
    range     // calls of a function over a range of indexes, in one submission
};

// Cores and GPUs are counts with fractions (thousandths); memory and disk are MB of 2^20 bytes. -1: not
// specified.
struct TaskResources {
    double cores = -1;
    std::int64_t memory = -1;
    std::int64_t disk = -1;
    double gpus = -1;
};

// Usage of one ended attempt. Times are microseconds; memory and disk are MB of 2^20 bytes.
struct TaskUsage {
    std::int64_t wall_time = 0;
    std::int64_t user_time = 0;  // by its processes that were waited for
    std::int64_t system_time = 0;
    // Peak of all its processes together, if it was monitored; otherwise of its largest process.
    std::int64_t memory = 0;
    std::int64_t bytes_read = 0;  // by system calls if it was monitored; else from block devices
    std::int64_t bytes_written = 0;

    // Usage of all its processes together, if it was monitored (Manager::enable_monitoring(),
    // Task::monitor_output()); -1: not monitored, or unknown to the worker's system.
    double cores = -1;  // peak, over at least a second
    std::int64_t cpu_time = -1;
    std::int64_t virtual_memory = -1;  // peak, MB
    std::int64_t swap_memory = -1;     // peak, MB
    std::int64_t disk = -1;            // peak, MB in its sandbox and its temporary folder
    std::int64_t total_files = -1;     // peak, files and folders in these
    std::int64_t bytes_received = -1;  // over TCP
    std::int64_t bytes_sent = -1;
    std::int64_t bandwidth = -1;  // peak, bytes per second over TCP in both directions
    std::int64_t max_concurrent_processes = -1;
    std::int64_t total_processes = -1;
    std::int64_t context_switches = -1;
    // The worker's machine at the end of the task.
    std::int64_t machine_cpus = -1;
    double machine_load = -1;  // over the last minute
};

// Usage so far, and memory and disk, at an event of a task; see Task::snapshot_file().
struct TaskSnapshot {
    std::string name;            // the label of the event
    std::int64_t wall_time = 0;  // us since its start
    TaskUsage usage{};
};

// Progress of a range. Each report of wait() has the news since the last report.
struct RangeProgress {
    // Indexes whose calls succeeded since the last report: half-open [first, last), ascending.
    std::vector<std::pair<std::int64_t, std::int64_t>> done;
    std::uint64_t done_now = 0;    // number of these indexes
    std::uint64_t done_total = 0;  // successes of the whole range so far
    std::uint64_t failed_total = 0;
    std::uint64_t size = 0;
    bool complete = false;  // every index has ended; this is the last report
};

// Options of a task's file.
struct FileOptions {
    bool cache = false;         // input: the worker keeps it for other tasks with the same content; output:
                                // only the transactions log says so
    bool failure_only = false;  // output: sent only if the task failed (result not success, or exit code
                                // not 0)
    bool success_only = false;  // output: sent only if the task did not fail
    bool watch = false;         // output: appended data is sent while the task runs
};

struct TaskData;  // internal

class Task {
  public:
    // ---- what to run ----

    // A shell line; without shell syntax it is executed directly. It runs in a temporary folder on the worker
    // (on a rank, a task without files runs in the folder where the job was started). Use absolute paths, or
    // specify the task's files.
    explicit Task(std::string command = {});

    // A call of the worker's function `function`, with packed arguments (a msgpack array).
    static Task packed_call(std::string function, std::string arguments, CallMode mode = CallMode::fork);

    // The same with typed values; needs #include <work_queue/call.h>: Task::call("area", 2.0, 3.5).
    template <class... Arguments>
    static Task call(std::string function, const Arguments&... arguments);

    // A remote task: calls `function` of the coprocess with the name `coprocess`, as `mode` says.
    // It takes one coprocess of a worker and nothing else of it, and waits for a worker with that coprocess
    // (work_queue_worker --coprocess). `event`: the arguments, a JSON object such as {"fn_args": [1, 2],
    // "fn_kwargs": {"scale": 0.5}}; a "remote_task_exec_method" there counts more than `mode`. output() is
    // {"Result": ..., "StatusCode": 200}, or 500 and a text if the function raised an exception (then ok() is
    // false and reason() has the text, too).
    static Task remote(std::string function, std::string coprocess, std::string event = "{}",
                       CallMode mode = CallMode::fork);

    // Calls `function` for each index of [first, last), which is its only argument. The range uses last -
    // first task ids. submit() refuses empty ranges.
    static Task range(std::string function, std::int64_t first, std::int64_t last,
                      CallMode mode = CallMode::fork);

    Task(const Task&);
    Task& operator=(const Task&);
    Task(Task&&) noexcept;
    Task& operator=(Task&&) noexcept;
    ~Task();

    // ---- what it needs; each has a default ----

    Task& command(std::string command);
    Task& tag(std::string tag);            // any text; default ""
    Task& category(std::string category);  // name for similar tasks; default "default"
    Task& priority(double priority);       // higher first, equal ones in order of submission; default 0

    // -1 or 0: not specified; the category's settings apply (Manager::specify_category_max_resources()). If
    // neither specifies anything, a command gets the whole worker without its GPUs, a call or range one core.
    // share/doc/resources.md has the other rules. submit() refuses other negative and impossibly large
    // amounts.
    Task& cores(double count);        // 0.5: half a core, shared with another such task
    Task& memory(std::int64_t mb);    // MB of 2^20 bytes
    Task& disk(std::int64_t mb);      // MB of 2^20 bytes
    Task& gpus(double count);         // 0.25: a quarter of a GPU
    Task& feature(std::string name);  // only workers with this feature; may be repeated
    // ---- its files ----
    //
    // A task with files runs in its own folder, the sandbox (WORK_QUEUE_SANDBOX in its environment). Its
    // inputs are there before it starts; the sandbox is removed when its outputs have been sent. `name` is a
    // file's name in the sandbox, a relative path without "..". `path` is a path on the manager's machine,
    // absolute or relative to the folder of the manager's process. submit() refuses invalid names, and two
    // files with one name.

    // A file or whole folder. `name` "": the last part of the path. $OS and $ARCH in the path are replaced by
    // those of the worker, such as "Linux" and "x86_64". Links within a folder stay links; other links are
    // replaced by their target. If a file is unreadable, the task does not start: TaskResult::input_missing.
    Task& input_file(std::string path, std::string name = {}, FileOptions options = {});
    // Bytes of your program that the task gets as a file.
    Task& input_buffer(std::string bytes, std::string name, FileOptions options = {});
    // Bytes first_byte to last_byte of a file, inclusive, counted from 0; bytes past its end are omitted.
    Task& input_piece(std::string path, std::string name, std::uint64_t first_byte, std::uint64_t last_byte,
                      FileOptions options = {});
    // An empty folder.
    Task& input_folder(std::string name);
    // A URL that the worker fetches: http, https, ftp and whatever its libcurl supports. A status of 400 or
    // above, an incomplete answer and a minute of silence give TaskResult::input_missing. `name` "": the last
    // part of the URL's path. With `cache`, a worker fetches it once for all its tasks and does not check it
    // again.
    Task& input_url(std::string url, std::string name = {}, FileOptions options = {});
    // The result of a shell line that the worker runs: the file or folder named %% in the line or, without
    // %%, its stdout. The line runs in the sandbox, with the inputs specified before it, and with the task's
    // environment, resources and running_time_max. A failure or a missing result gives
    // TaskResult::input_missing. With `cache`, a worker runs it once for all its tasks, in an empty folder
    // and without the task's environment.
    Task& input_command(std::string line, std::string name, FileOptions options = {});
    // A file or folder that the task makes. It replaces `path` completely or not at all. `name` "": the last
    // part of the path. If the task did not make it: TaskResult::output_missing; if it cannot be stored:
    // TaskResult::output_transfer_error. Other outputs are still sent. With `watch`, appended data arrives
    // while the task runs, about a second late; at the end the whole file replaces it.
    Task& output_file(std::string path, std::string name = {}, FileOptions options = {});

    // Retries after the worker was lost, after a fast abort (Manager::activate_fast_abort), or after the task
    // ran out of memory without a specified need: 5 means 6 attempts, then TaskResult::max_retries. If the
    // task was lost before, its last attempt runs alone on a worker, so that no other task can be the cause.
    // Below 1 (default): no limit (out of memory: no retry). A task that fails by itself is not retried.
    Task& max_retries(std::int64_t n);

    // Sets a variable of the task's environment; without a value, unsets it. Applies to commands and
    // CallMode::fork only; other calls and ranges see the worker's environment.
    Task& environment_variable(std::string name, std::optional<std::string> value);

    Task& running_time_max(std::int64_t seconds);       // killed after this time; 0 or less: no limit
    Task& running_time_min(std::int64_t seconds);       // not started on a worker that ends sooner
    Task& end_time(std::int64_t us_since_epoch);        // expires or is killed then
    Task& start_time_min(std::int64_t us_since_epoch);  // not started earlier
    Task& call_mode(CallMode mode);                     // for calls, ranges and remote tasks
    // Makes a command a remote task, as remote() does: the command is the name of the function, and its
    // input_buffer() "infile", if it has one, the event. "": none.
    Task& coprocess(std::string name);

    // Measures the task with all its processes and writes a report wq-PID-task-ID.summary to this folder on
    // the manager's machine (PID: manager process, ID: task) before wait() returns the task. submit() creates
    // the folder; it refuses the task if the folder cannot be written. Reports of calls in CallMode::thread
    // and direct have only times; ranges have no report. "" (default): off.
    Task& monitor_output(std::string folder);
    // Measures the task, and takes a snapshot of its usage at each event that this JSON file describes,
    // within half a second. share/doc/resources.md has its format. The snapshots are in snapshots() and in
    // reports.
    Task& snapshot_file(std::string path);

    // Names in Work Queue's other languages.
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
    void specify_coprocess(std::string name) { coprocess(std::move(name)); }
    void specify_monitor_output(std::string folder) { monitor_output(std::move(folder)); }
    void specify_snapshot_file(std::string path) { snapshot_file(std::move(path)); }
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

    // An input folder; not recursive: an empty folder.
    void specify_directory(std::string path, std::string name = {}, bool recursive = true,
                           bool cache = false);
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

    // ---- results, after wait() ----

    std::int64_t id() const;  // as submit() returned it, from 1; 0: not submitted
    TaskResult result() const;
    const char* result_str() const { return wq::result_str(result()); }
    // For a command: exit code 0. For a call: it returned. For a range: true until its end, then whether all
    // calls succeeded (each failed call is a separate Task).
    bool ok() const;
    int exit_status() const;    // exit code; 0 if there is none
    int return_status() const;  // exit code, or the signal that killed it; -1: it never ran
    // Its stdout and stderr; at most output_limit bytes of each.
    const std::string& output() const;  // stdout
    const std::string& error_output() const;
    // The same without a copy in memory of what is in a file, because it is larger than 16 MiB. Valid while a
    // copy of this Task exists.
    std::string_view output_view() const;
    std::string_view error_output_view() const;
    const std::string& reason() const;         // one line if the result needs one; for a call, its exception
    const std::string& packed_result() const;  // result of a call as msgpack
    // Result of a successful call; needs #include <work_queue/call.h>. Throws ResultError.
    template <class T>
    T result_as() const;
    std::int64_t index() const;             // index of a failed call of a range
    const RangeProgress& progress() const;  // of a range

    const std::string& host() const;           // of the worker, "10.0.0.7:40112" or "node3:rank 5"; "": none
    const std::string& hostname() const;       // "node3"
    std::uint32_t attempts() const;            // the results here are of the last one
    std::uint32_t exhausted_attempts() const;  // attempts that exceeded their allocation
    TaskResources resources_allocated() const;
    const TaskUsage& resources_measured() const;
    std::vector<TaskSnapshot> snapshots() const;
    // When each peak of resources_measured() was reached, in microseconds since its start; -1: unknown.
    TaskUsage peak_times() const;
    // The limits that it exceeded; -1: not exceeded. See TaskResult::resource_exhaustion.
    TaskResources limits_exceeded() const;

    // Microseconds since 1970-01-01 UTC; 0: it did not happen.
    std::int64_t submit_time() const;
    std::int64_t commit_time() const;         // dispatched to the worker
    std::int64_t execute_cmd_start() const;   // by the worker's clock
    std::int64_t execute_cmd_finish() const;  // by the worker's clock
    std::int64_t finish_time() const;         // the manager learned of its end
    std::int64_t return_time() const;         // wait() returned it
    // What its last attempt cost the network.
    std::int64_t bytes_sent() const;          // of its files
    std::int64_t bytes_received() const;      // of its files, output and result
    std::int64_t cmd_execution_time() const;  // us: of the last attempt

  private:
    friend struct TaskAccess;
    explicit Task(std::unique_ptr<TaskData> data);
    TaskData& own();
    const TaskData& seen() const;
    std::unique_ptr<TaskData> data_;
};

}  // namespace gnu::visibility("default")]]wq
