// What manager and workers say to each other. A frame holds any number of messages, one after the other; each
// is a msgpack array: its kind, then its fields in the order of its struct. Strings may hold any byte, so
// they travel as msgpack's bin. Decoding is bounded: whatever a peer sends, nothing here throws, asserts or
// reserves more than a small multiple of the frame's own size.
//
// Versions: 1 (first); 2 (msgpack; workers over TCP, functions); 3 (limits of output, departures, functions
// as features); 4 (files of tasks); 5 (rules of allocation); 6 (watched tasks).
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
#include "core/allocation.h"
#include "core/outcome.h"
#include "core/resources.h"

namespace wq::wire {

inline constexpr std::uint32_t protocol_version = 6;

// ---- worker -> manager ----

struct Hello {
    std::uint32_t version = protocol_version;  // first, so that any other version can read it
    std::optional<std::uint32_t> rank;         // of an MPI job; nothing: a worker over TCP
    std::string host;
    core::Resources offers;
    std::optional<Duration> leaves_in;  // until its batch job ends: clocks of two hosts may be hours apart
    WallMicros clock = 0;               // its own wall clock as it sends this
    bool takes_tickets = false;
    std::string remark;  // one line for the user, e.g. "bound to 1 of 64 cores"; may be empty
    std::vector<std::string> features;
    std::string os;    // "Linux" and
    std::string arch;  // "x86_64": as uname(2) has them
    std::string node;  // equal for workers that may see each other's workspaces; empty: it shares with none
    // Of a worker over TCP, which may come back after its link was cut.
    std::string identity;            // random; it stays until this process gives the manager up
    std::string resume;              // the token of the Welcome before; empty: it comes for the first time
    std::uint64_t answers_sent = 0;  // to this manager, since it first came
    std::vector<std::pair<TaskId, Attempt>> holding;  // leases not yet answered, or not yet acknowledged
};
struct Ended {
    TaskId task;
    Attempt attempt = 0;
    core::Outcome outcome;
    core::Output output;
};
struct GivenBack {
    TaskId task;
    Attempt attempt = 0;
};
// Indexes of a batch of function calls that succeeded, many at once. What failed of it is told by Ended.
struct RangeEnded {
    BatchId batch;
    IntervalSet done;           // tasks
    WallMicros started_us = 0;  // of the first of them
    std::int64_t wall_us = 0;   // of all of them, summed
};
struct Draining {};  // lease it nothing more
struct Account {     // of a batch, see core/batches.h
    BatchId batch;
    IntervalSet holding;
    bool saw_dry = false;
};
struct WantTickets {  // its node has nothing of this batch left to claim
    BatchId batch;
};
struct WantTexts {  // it drew this range from the counter window, or its texts were overwritten
    BatchId batch;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};
struct SharesFiles {};  // it sees the manager's: its tasks need none brought
struct Goodbye {        // it leaves by itself; what it held was given back before
    std::string why;
    bool idle = false;  // for want of tasks
};
struct EnvironmentReport {       // a `#!` line failed, or wrote to stderr
    std::uint64_t position = 0;  // as EnvironmentLine's
    int exit_code = 0;
    std::string text;  // what it wrote, the beginning
};

// ---- manager -> worker ----

struct Welcome {
    std::uint32_t version = protocol_version;
    WorkerId worker;
    // Of a worker over TCP: with this token it may come back within so long and go on.
    std::string resume;
    Duration grace{0};
    std::uint64_t answers_received = 0;  // of those that it sent since it first came
    std::string directory;       // where tasks are to start, if the worker can enter it; empty: its workspace
    std::string index_variable;  // a further name of WORK_QUEUE_TASK_INDEX; empty: none
    // A file of the manager's, and what is in it: who finds it so sees the manager's files, and says
    // SharesFiles; empty: nobody is to.
    std::string mark_path;
    std::string mark;
    std::uint64_t output_limit = 8u << 20;  // bytes to keep of each stream of a task
};
// The manager does not want this worker: another version, a second worker of one identity. It is not to try
// again.
struct Refused {
    std::uint32_t version = protocol_version;
    std::string why;
};
// Answers (Ended, GivenBack, RangeEnded) of a worker over TCP that arrived, since it first came: it forgets
// them.
struct Acknowledged {
    std::uint64_t answers = 0;
};
struct EnvironmentLine {  // a `#!` line that applies to this worker; in order
    std::uint64_t position = 0;
    std::string text;
};
// A call of a function that the worker has under this name.
struct Call {
    std::string function;
    std::string arguments;  // msgpack: an array of them
    core::CallMode mode = core::CallMode::fork;
};
// What a task brings along. Of `content`, the bytes are a stream of files/tree_format.h: they are in the
// lease where they are few, else the worker asks for them unless its cache has them.
enum class InputKind : std::uint8_t { content, url, command };
struct InputFile {
    std::string name;  // in the task's sandbox
    InputKind kind = InputKind::content;
    std::string from;  // URL or shell line
    std::string key;   // of content that is cached: the content key; else empty
    std::optional<std::string> content;
    bool operator==(const InputFile&) const = default;
};
struct OutputFile {
    std::string name;  // in the task's sandbox
    bool on_failure = true;
    bool on_success = true;
    bool watched = false;  // what is appended to it is sent while the task runs
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
    core::Resources give;
    Duration timeout{0};
    core::Watch watch{};
    std::uint64_t environment_position = 0;
    std::string text;
    EnvironmentChanges variables;
    std::optional<Call> call;  // instead of the text
    // It runs in a sandbox of its own; nothing: where its worker's tasks run.
    std::optional<LeaseFiles> files;
};
struct Kill {  // what is held of these neighbours, whether it runs or waits
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
    core::Needs needs;
    core::AllocationRules rules{};
    Duration timeout{0};
    core::Watch watch{};
    // Where all tasks are items of one `--array`: its template and indexes, and the id of its first item.
    // Else each ticket comes with its text.
    std::vector<std::string> command;
    std::string indexes;
    TaskId first_item;
    // Where all tasks are calls of one function over a range of indexes: task t is the call with the one
    // argument t - first_item + first_index.
    std::optional<Call> call;
    std::int64_t first_index = 0;
    bool by_counter = false;  // ranges are drawn from rank 0's counter window, not asked for
    std::uint32_t nodes = 1;  // that share it: for the size of a range
};
struct Tickets {  // answer to WantTickets and WantTexts
    BatchId batch;
    std::uint64_t first = 0;
    std::uint64_t count = 0;         // 0: nothing is left of the batch
    bool texts_only = false;         // answer to WantTexts: the range was the asker's before
    std::vector<std::string> texts;  // none where the batch has a template
};
struct RevokedBatch {  // claim no more of it
    BatchId batch;
};
struct Dismiss {  // end; nothing more counts
    std::string why;
    bool ranks_lost = false;  // leave without MPI_Finalize, which would wait for them
    bool for_good = false;    // a worker over TCP is to end, not to look for another manager
};

// ---- both ways ----

struct Beat {};  // alive

// ---- files of a task, by their place in the lists of its lease ----
//
// Whoever receives says how much may come: a stream is sent in parts, up to so many of its bytes in all, so
// that a large one is never in memory and delays nobody else on the link. A link that is cut ends all streams
// of its tasks; they begin anew on the next one.

struct WantInput {  // worker: the next bytes of this input, up to `upto` in all
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::uint64_t upto = 0;
    std::uint32_t stream = 0;  // another one than before: from the first byte, whatever has come
    bool missed = false;       // it was not where InputIsAt said
};
struct HaveInput {  // worker: this cached input has come
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::string folder;  // of its cache: the content's key is its name there
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
    std::uint32_t stream = 0;  // as it was asked for
    std::string bytes;
    bool last = false;
};
struct NoInput {  // it cannot be read any more, or was written to while it was read
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t input = 0;
    std::string why;
};
struct OutputPart {  // worker, once the task has ended: one output after the other
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t output = 0;
    std::string bytes;
    bool last = false;  // of this output
};
struct TakeOutput {  // manager: bytes of all outputs of the task together, up to `upto`
    TaskId task;
    Attempt attempt = 0;
    std::uint64_t upto = 0;
};
// worker: what its task has appended to a watched output, which is sent whole once it has ended. One of a
// task at a time: its answer is to be waited for.
struct WatchedPart {
    TaskId task;
    Attempt attempt = 0;
    std::uint32_t output = 0;
    std::uint64_t offset = 0;  // of the first byte, in the file
    std::string bytes;
};
struct WatchedTaken {  // manager
    TaskId task;
    Attempt attempt = 0;
};
struct OutputsSent {  // worker: there are no more; its Ended follows the answer
    TaskId task;
    Attempt attempt = 0;
};
struct OutputsKept {  // manager: they are at their places, or why not
    TaskId task;
    Attempt attempt = 0;
    std::string trouble;  // empty: they are
};

inline constexpr std::size_t part_bytes = 256 << 10;  // of a part, about
// Of an input, asked for and not yet taken.
inline constexpr std::uint64_t input_window = 4 * part_bytes;
// Of the outputs of a task so much may come before a TakeOutput says more.
inline constexpr std::uint64_t first_output_bytes = part_bytes;

// A message's kind is its place here. Hello and Refused keep theirs for ever, and Refused
// its form: they tell versions apart.
using Message =
    std::variant<Hello, Refused, Welcome, Ended, GivenBack, RangeEnded, Draining, Account, WantTickets,
                 WantTexts, Goodbye, EnvironmentReport, Acknowledged, EnvironmentLine, Lease, Kill, KillAll,
                 Recall, SealedBatch, Tickets, RevokedBatch, Dismiss, Beat, WantInput, InputPart, NoInput,
                 OutputPart, TakeOutput, OutputsSent, OutputsKept, WatchedPart, WatchedTaken, HaveInput,
                 InputIsAt, SharesFiles>;

void encode(const Message& message, ByteWriter& out);
std::string encode(const Message& message);

// All messages of a frame; nothing when any of it is malformed. Of a Hello of another version only the
// version is read.
std::optional<std::vector<Message>> decode(std::string_view frame);

}  // namespace wq::wire
