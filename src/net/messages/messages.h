// The messages between manager and workers. A frame holds any number of messages; each is a msgpack array:
// its kind, then its fields in the order of its struct. Strings may hold any byte, so they travel as
// msgpack's bin. Decoding is bounded: whatever a peer sends, nothing here throws, asserts or reserves more
// than a small multiple of the frame's size.
//
// Versions: 1 (first); 2 (msgpack; workers over TCP, functions); 3 (limits of output, departures, functions
// as features); 4 (files of tasks); 5 (rules of allocation); 6 (watched tasks); 7 (status, batch jobs);
// 8 (coprocesses); 9 (arguments in memory that a worker maps); 10 (folder of a script); 11 (last words);
// 12 (listings of the status); 13 (times of files and of workers).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/environment_changes.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/allocation.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"

namespace wq::net::messages {

inline constexpr std::uint32_t protocol_version = 13;

// ---- worker -> manager ----

struct Hello {
    std::uint32_t version = protocol_version;  // first, so that every version can read it
    std::optional<std::uint32_t> rank;         // in an MPI job; nullopt: a TCP worker
    std::string host;
    engine::model::Resources offers;
    // Durations, because clocks of hosts may differ by hours; nullopt: not known.
    std::optional<Duration> leaves_in;    // until its batch job ends
    std::optional<Duration> process_age;  // how long its process has run
    std::optional<Duration> job_age;      // how long its batch job has run
    std::int64_t allocated_cores = 0;     // to its batch job on its host; 0: not known
    WallMicros clock = 0;                 // its wall clock when it sends this
    bool takes_tickets = false;
    std::string remark;  // one line for the user, such as "bound to 1 of 64 cores"; may be empty
    std::vector<std::string> features;
    std::string os;    // "Linux" and
    std::string arch;  // "x86_64": as in uname(2)
    std::string node;  // equal for workers that can read each other's workspaces; empty: none
    std::string job;   // its id in the batch system, as a driver in scripts/ prints it; empty: none
    // For a TCP worker, which may reconnect.
    std::string address;             // its end of the connection; the manager sees another one if something
                                     // relays it
    std::string identity;            // random; the same until this process gives the manager up
    std::string resume;              // the token of the previous Welcome; empty: it joins for the first time
    std::uint64_t answers_sent = 0;  // to this manager, since it first joined
    std::vector<std::pair<TaskId, Attempt>> holding;  // leases without an answer, or without an
                                                      // acknowledgement
};
struct Ended {
    TaskId task;
    Attempt attempt = 0;
    engine::model::Outcome outcome;
    engine::model::Output output;
};
struct GivenBack {
    TaskId task;
    Attempt attempt = 0;
};
// Successes of a batch of function calls, many at once. Failures are reported by Ended.
struct RangeEnded {
    BatchId batch;
    IntervalSet done;           // tasks
    WallMicros started_us = 0;  // of the first of them
    std::int64_t wall_us = 0;   // summed
};
struct Draining {};  // the worker wants no more leases
struct Account {     // of a batch, see engine/model/batches.h
    BatchId batch;
    IntervalSet holding;
    bool saw_dry = false;
};
struct WantTickets {  // the node has no tickets of this batch left to claim
    BatchId batch;
};
struct WantTexts {  // the worker claimed this range from the counter window, or its texts were overwritten
    BatchId batch;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};
struct SharesFiles {};   // the worker sees the manager's files, so inputs need no transfer
struct SharesMemory {};  // the worker can map the manager's memories, so arguments in these need no copy
struct Goodbye {         // the worker leaves by itself; it has returned its leases before
    std::string why;
    bool idle = false;  // because it had no tasks
};
struct Keeps {  // it closes this connection, and may reconnect
    std::uint64_t tasks = 0;
};
struct EnvironmentReport {       // a `#!` line failed, or wrote to stderr
    std::uint64_t position = 0;  // as EnvironmentLine's
    int exit_code = 0;
    std::string text;  // the beginning of its output
};

// ---- manager -> worker ----

struct Welcome {
    std::uint32_t version = protocol_version;
    WorkerId worker;
    // A TCP worker may reconnect with this token within this time and continue.
    std::string resume;
    Duration grace{0};
    std::uint64_t answers_received = 0;  // of the answers since it first joined
    std::string directory;       // where to run tasks, if the worker can enter it; empty: its workspace
    std::string index_variable;  // another name for WORK_QUEUE_TASK_INDEX; empty: none
    // A file of the manager and its content: a worker that finds it there sees the manager's files, and sends
    // SharesFiles; empty: no check.
    std::string mark_path;
    std::string mark;
    std::uint64_t output_limit = 8u << 20;  // bytes kept per stream of a task
    // The same for a memory of the manager's process and SharesMemory.
    std::string memory_path;
    std::string memory_mark;
};
// The manager refuses this worker: another version, or a second worker with the same identity. It must not
// retry.
struct Refused {
    std::uint32_t version = protocol_version;
    std::string why;
};
// How many answers (Ended, GivenBack, RangeEnded) of a TCP worker have arrived since it first joined: it
// forgets those.
struct Acknowledged {
    std::uint64_t answers = 0;
};
struct EnvironmentLine {  // a `#!` line that applies to this worker; sent in order
    std::uint64_t position = 0;
    std::string text;
};
// A call of one of the worker's functions.
struct Call {
    std::string function;
    std::string arguments;  // a msgpack array; for a coprocess: its event, a JSON object
    engine::model::CallMode mode = engine::model::CallMode::fork;
    std::string coprocess{};  // whose function it is; empty: the worker's own
};
// A task's input. The bytes of `content` are a stream of files/trees/tree_format.h: small ones are in the
// lease, the worker requests others unless its cache has them.
enum class InputKind : std::uint8_t { content, url, command };
constexpr InputKind last_of(InputKind) {
    return InputKind::command;
}
struct InputFile {
    std::string name;  // in the task's sandbox
    InputKind kind = InputKind::content;
    std::string from;  // URL or shell command
    std::string key;   // the content key, if it is cached content; else empty
    std::optional<std::string> content;
    bool operator==(const InputFile&) const = default;
};
struct OutputFile {
    std::string name;  // in the task's sandbox
    bool on_failure = true;
    bool on_success = true;
    bool watched = false;  // data appended to it is sent while the task runs
    bool operator==(const OutputFile&) const = default;
};
struct LeaseFiles {
    std::vector<InputFile> inputs;
    std::vector<OutputFile> outputs;
    bool operator==(const LeaseFiles&) const = default;
};
struct Lease {
    TaskId task;
    Attempt attempt = 1;
    engine::model::Resources give;
    Duration timeout{0};
    engine::model::Watch watch{};
    std::uint64_t environment_position = 0;
    std::string text;
    EnvironmentChanges variables;
    std::optional<Call> call;  // instead of the command text
    // It runs in its own sandbox; nullopt: in the worker's directory for tasks.
    std::optional<LeaseFiles> files;
};
struct Kill {  // those of these consecutive tasks that the worker holds, running or waiting
    TaskId task;
    Attempt attempt = 0;
    std::uint64_t count = 1;
};
struct KillAll {};
struct Recall {
    std::uint64_t most = 0;
};
struct SealedBatch {  // may be claimed by ticket; ticket n is the n-th task of `tasks`, always as attempt 1
    BatchId batch;
    IntervalSet tasks;
    engine::model::Needs needs;
    engine::model::AllocationRules rules{};
    Duration timeout{0};
    engine::model::Watch watch{};
    // If all tasks are items of one `--array`: its template and indexes, and the id of its first item.
    // Otherwise each ticket has a text.
    std::vector<std::string> command;
    std::string indexes;
    TaskId first_item;
    // If all tasks are calls of one function over a range of indexes: task t is the call with the one
    // argument t - first_item + first_index.
    std::optional<Call> call;
    std::int64_t first_index = 0;
    bool by_counter = false;  // ranges are claimed from rank 0's counter window, not requested
    std::uint32_t nodes = 1;  // that share it: determines the size of a range
};
struct Tickets {  // answer to WantTickets and WantTexts
    BatchId batch;
    std::uint64_t first = 0;
    std::uint64_t count = 0;         // 0: the batch has none left
    bool texts_only = false;         // answers WantTexts: the worker had the range before
    std::vector<std::string> texts;  // empty if the batch has a template
};
struct RevokedBatch {  // claim none of it any more
    BatchId batch;
};
struct Dismiss {  // the worker must exit; nothing more counts
    std::string why;
    bool ranks_lost = false;  // leave without MPI_Finalize, which would wait for them
    bool for_good = false;    // a TCP worker must exit, not look for another manager
};

// ---- both ways ----

struct Beat {};  // heartbeat

// ---- files of a task, by their position in the lists of its lease ----
//
// The receiver controls the flow: a stream is sent in parts, up to the total that the receiver has allowed.
// So a large one is never in memory as a whole and delays nobody else on the link. A disconnection ends all
// streams of the worker's tasks; they restart on the next connection.

struct WantInput {  // worker: requests the next bytes of this input, up to `upto` in total
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::uint64_t upto = 0;
    std::uint32_t stream = 0;  // a new number: start again at the first byte, whatever arrived before
    bool missed = false;       // it was not where InputIsAt said
};
struct HaveInput {  // worker: this cached input has arrived
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::string folder;  // of its cache; the file is named by its content key
};
struct InputIsAt {  // manager: another worker of the node has it
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::string path;
};
struct InputPart {
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::uint32_t stream = 0;  // as in the request
    std::string bytes;
    bool last = false;
};
struct NoInput {  // it became unreadable, or changed while it was read
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::string why;
};
struct OutputPart {  // worker, after the task has ended: one output after the other
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t output = 0;
    std::string bytes;
    bool last = false;  // the last part of this output
};
struct TakeOutput {  // manager: how many bytes of all the task's outputs may be sent in total
    TaskId task;
    Attempt attempt = 0;
    std::uint64_t upto = 0;
};
// worker: data that its task has appended to a watched output; the whole output still follows at the end. One
// at a time per task: the next waits for the answer.
struct WatchedPart {
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t output = 0;
    std::uint64_t offset = 0;  // of the first byte in the file
    std::string bytes;
};
struct WatchedTaken {  // manager
    TaskId task;
    Attempt attempt = 0;
};
struct OutputsSent {  // worker: all are sent; its Ended follows the answer
    TaskId task;
    Attempt attempt = 0;
};
struct OutputsKept {  // manager: whether they are stored at their destinations
    TaskId task;
    Attempt attempt = 0;
    std::string trouble;  // empty: they are
};

// ---- by programs that are no workers ----

// The first message of what outlives a worker's process. The connection then ends.
struct LastWords {
    std::uint32_t version = protocol_version;
    std::string identity;    // the worker's, and
    std::string resume;      // its token
    bool all_ended = false;  // all its tasks; false: some process could not be killed
};

// What a program asks for: what a factory needs, or a listing with the names of CCTools' status protocol.
enum class StatusOf : std::uint8_t { shapes, queue, tasks, workers, categories };
constexpr StatusOf last_of(StatusOf) {
    return StatusOf::categories;
}
// The first message of such a program. The answer to `shapes` is a StatusReport, to any other listing a
// StatusPart, or Refused. Then the connection ends, unless a part says that more follows: the program asks
// for it on the same connection.
struct StatusQuery {
    std::uint32_t version = protocol_version;
    StatusOf what = StatusOf::shapes;
    std::uint64_t from = 0;  // the last part's `next`
};
// So a long listing is never in the manager's memory as a whole, and a slow reader delays nobody.
struct StatusPart {
    std::string records;     // JSON objects, separated by commas; may be empty
    std::uint64_t next = 0;  // where the listing goes on; 0: it is complete
};
// Unfinished tasks that are equal in all this.
struct TasksOfShape {
    std::string category;
    engine::model::Needs needs;  // what they specify, or what their category requests for them now
    engine::model::AllocationRules rules{};
    std::vector<std::string> features;
    std::uint64_t ready = 0;
    std::uint64_t on_workers = 0;  // dispatched, running or not, or in a batch that ranks claim
    bool operator==(const TasksOfShape&) const = default;
};
struct WorkerStatus {
    WorkerId worker;
    std::string host;
    engine::model::Resources offers;
    std::uint64_t tasks = 0;  // dispatched to it
    std::string job;          // as in its Hello
    std::string factory;      // that started it; empty: none
    bool is_rank = false;     // of the manager's MPI job
    bool connected = true;    // false: it may reconnect
    bool operator==(const WorkerStatus&) const = default;
};
struct StatusReport {
    std::uint32_t version = protocol_version;
    std::vector<TasksOfShape> shapes;
    std::uint64_t further = 0;  // unfinished tasks of other shapes, if there are too many shapes to list
    std::vector<WorkerStatus> workers;
    std::uint64_t blocked = 0;  // tasks that wait for other tasks or for a time
    std::uint64_t submitted = 0;
    std::uint64_t done = 0;           // succeeded
    std::uint64_t failed = 0;         // failed, skipped or cancelled
    std::int64_t capacity_tasks = 0;  // how many the manager could keep busy; 0: not known yet
    bool ending = false;              // it starts nothing any more
    std::uint64_t running = 0;
    std::int64_t elapsed_us = 0;        // since the run began; 0: not known
    std::int64_t ended_in_1000_s = -1;  // tasks, at the recent rate; -1: not known
};

inline constexpr std::size_t part_bytes = 256 << 10;        // approximate size of a part
inline constexpr std::size_t status_part_bytes = 64 << 10;  // the same, of a listing: a millisecond's work
// How much of an input may be requested and not yet received.
inline constexpr std::uint64_t input_window = 4 * part_bytes;
// How much of a task's outputs may be sent before the first TakeOutput.
inline constexpr std::uint64_t first_output_bytes = part_bytes;

// A message's kind is its position here. Hello and Refused keep theirs forever, and Refused its form, because
// they distinguish versions.
using Message =
    std::variant<Hello, Refused, Welcome, Ended, GivenBack, RangeEnded, Draining, Account, WantTickets,
                 WantTexts, Goodbye, EnvironmentReport, Acknowledged, EnvironmentLine, Lease, Kill, KillAll,
                 Recall, SealedBatch, Tickets, RevokedBatch, Dismiss, Beat, WantInput, InputPart, NoInput,
                 OutputPart, TakeOutput, OutputsSent, OutputsKept, WatchedPart, WatchedTaken, HaveInput,
                 InputIsAt, SharesFiles, StatusQuery, StatusReport, SharesMemory, Keeps, LastWords,
                 StatusPart>;

void encode(const Message& message, ByteWriter& out);
std::string encode(const Message& message);

// All messages of a frame; nullopt if any is malformed. For a Hello or StatusQuery of another version only
// the version is read.
std::optional<std::vector<Message>> decode(std::string_view frame);
// At most `most` messages from byte `at` on; moves `at` behind them.
std::optional<std::vector<Message>> decode(std::string_view frame, std::size_t& at, std::size_t most);

}  // namespace wq::net::messages
