// The columns of datasets in stats.h5. Rows are plain structs of fixed width, so a row has the same bytes in
// memory and in the file. The tables in schema.h define struct, dataset and user guide together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "engine/model/manager_stats.h"
#include "engine/model/outcome.h"

namespace wq::records::hdf5 {

// At most N bytes of UTF-8, padded with NULs; longer text is cut between characters.
template <std::size_t N>
struct FixedText {
    char bytes[N] = {};

    FixedText() = default;
    FixedText(std::string_view text) {  // NOLINT: implicit by design, rows are filled from strings
        std::size_t n = std::min(text.size(), N);
        while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
        std::memcpy(bytes, text.data(), n);
    }
    FixedText(const std::string& text) : FixedText(std::string_view(text)) {}  // NOLINT
    std::string_view view() const {
        return {bytes, static_cast<std::size_t>(std::find(bytes, bytes + N, '\0') - bytes)};
    }
};

enum class Flag : std::uint8_t { no = 0, yes = 1 };
enum class Direction : std::uint8_t { input = 0, output = 1 };

enum class ColumnType : std::uint8_t { u64, i64, u32, i32, u16, f64, text, flag, ending, direction };

template <class T>
inline constexpr ColumnType column_type = ColumnType::text;
template <>
inline constexpr ColumnType column_type<std::uint64_t> = ColumnType::u64;
template <>
inline constexpr ColumnType column_type<std::int64_t> = ColumnType::i64;
template <>
inline constexpr ColumnType column_type<std::uint32_t> = ColumnType::u32;
template <>
inline constexpr ColumnType column_type<std::int32_t> = ColumnType::i32;
template <>
inline constexpr ColumnType column_type<std::uint16_t> = ColumnType::u16;
template <>
inline constexpr ColumnType column_type<double> = ColumnType::f64;
template <>
inline constexpr ColumnType column_type<Flag> = ColumnType::flag;
template <>
inline constexpr ColumnType column_type<Direction> = ColumnType::direction;
template <>
inline constexpr ColumnType column_type<engine::model::Ending> = ColumnType::ending;

struct Column {
    const char* name;
    ColumnType type;
    std::size_t offset;  // in the row
    std::size_t bytes;
    const char* unit;  // "1": no unit
    const char* meaning;
};

struct Schema {
    const char* name;  // of the dataset, without its slash
    const char* meaning;
    std::size_t row_bytes;
    std::size_t chunk_rows;
    std::span<const Column> columns;
};

// The datasets of stats.h5. Every run creates all of them at its start, because a file open for SWMR accepts
// no new dataset. Add columns at the end of a table.

// X(type, name, unit, meaning)
#define WQ_TASK_COLUMNS(X)                                                                                  \
    X(std::int64_t, task, "1", "number of the task, from 1, as in joblog.tsv (Seq) and --output")           \
    X(std::uint64_t, key, "1", "identifies the task in runs of an edited list: hash of its line, or index") \
    X(std::int64_t, line, "1", "line of the task list, from 1; 0: not from a list")                         \
    X(std::uint32_t, attempt, "1", "from 1")                                                                \
    X(std::uint32_t, worker, "1",                                                                           \
      "id of the worker (/workers); 4294967295: unknown, lost with one of several workers; "                \
      "meaningless if ending is never_ran")                                                                 \
    X(std::uint32_t, category, "1", "id of the category (/categories)")                                     \
    X(std::int32_t, exit_code, "1", "of the process; 126, 127: it could not be started")                    \
    X(std::uint16_t, signal, "1", "signal that ended it, 0: none")                                          \
    X(engine::model::Ending, ending, "1", "how the attempt ended")                                          \
    X(Flag, final, "1", "no further attempt follows")                                                       \
    X(std::uint32_t, calls, "calls",                                                                        \
      "1; for a range: number of calls in this row; `task` is the lowest, times are sums")                  \
    X(double, given_cores, "cores", "allocated cores")                                                      \
    X(double, given_gpus, "GPUs", "allocated GPUs")                                                         \
    X(std::int64_t, given_memory, "MB", "allocated memory")                                                 \
    X(std::int64_t, given_disk, "MB", "allocated disk")                                                     \
    X(std::int64_t, submitted, "us", "submitted to the manager, since 1970")                                \
    X(std::int64_t, dispatched, "us", "dispatched to a worker, since 1970; 0: never")                       \
    X(std::int64_t, started, "us", "process started, by the clock of its host, since 1970; 0: never")       \
    X(std::int64_t, received, "us", "end known to the manager, since 1970")                                 \
    X(std::int64_t, wall, "us", "from start to end of the process")                                         \
    X(std::int64_t, user, "us", "CPU time in user mode, with children it waited for")                       \
    X(std::int64_t, system, "us", "CPU time in the kernel")                                                 \
    X(std::int64_t, peak_memory, "kB", "largest resident set of one of its processes")                      \
    X(std::int64_t, bytes_read, "bytes", "read from block devices")                                         \
    X(std::int64_t, bytes_written, "bytes", "written to block devices")                                     \
    X(std::uint64_t, stdout_bytes, "bytes", "written to stdout, kept or not")                               \
    X(std::uint64_t, stderr_bytes, "bytes", "written to stderr, kept or not")                               \
    X(double, cores_peak, "cores",                                                                          \
      "peak cores of its process tree; -1: not measured, as in the next columns")                           \
    X(std::int64_t, memory_peak, "MB", "peak memory of its process tree")                                   \
    X(std::int64_t, disk_peak, "MB", "peak in its sandbox and temporary folder")                            \
    X(std::int64_t, bytes_received, "bytes", "over TCP")                                                    \
    X(std::int64_t, bytes_sent, "bytes", "over TCP")                                                        \
    X(std::int64_t, files, "files", "peak in its sandbox and temporary folder")                             \
    X(std::int64_t, processes, "processes", "total in its process tree")                                    \
    X(std::int32_t, exceeded, "1", "limits it was killed for: 1 cores + 2 memory + 4 disk")                 \
    X(std::uint32_t, reserved, "1", "0")                                                                    \
    X(std::int64_t, ready, "us",                                                                            \
      "could have been dispatched, since 1970: no earlier task or attempt was in its way; 0: not recorded") \
    X(std::int64_t, inputs_there, "us",                                                                     \
      "its last input file was in its sandbox, since 1970; 0: it had none, or not recorded")                \
    X(std::int64_t, ended, "us", "process ended, since 1970; 0: never started")                             \
    X(std::int64_t, outputs_there, "us",                                                                    \
      "its last output file was stored, since 1970; 0: it had none, or not recorded")                       \
    X(std::uint32_t, ask, "1", "id of what it asks for (/asks); 0: not recorded")                           \
    X(std::int32_t, disk_wait, "1/1000",                                                                    \
      "of its samples, those in which one of its processes waited for a disk or a file server (state D); "  \
      "-1: not measured")

#define WQ_WORKER_COLUMNS(X)                                                                          \
    X(std::uint32_t, worker, "1", "id of the worker; its rank if it is an MPI rank")                  \
    X(std::uint32_t, rank, "1", "MPI rank; 4294967295: a TCP worker")                                 \
    X(std::uint32_t, cores, "cores", "offered cores")                                                 \
    X(std::uint32_t, gpus, "GPUs", "offered GPUs")                                                    \
    X(std::int64_t, memory, "MB", "offered memory")                                                   \
    X(std::int64_t, disk, "MB", "offered disk")                                                       \
    X(std::int64_t, joined, "us", "joined, since 1970")                                               \
    X(std::int64_t, left, "us", "left, since 1970; 0: still connected")                               \
    X(std::uint64_t, tasks_done, "tasks", "attempts that ended there; set when it leaves")            \
    X(FixedText<64>, host, "1", "name of its host")                                                   \
    X(FixedText<64>, address, "1", "address of its connection")                                       \
    X(FixedText<64>, why_left, "1", "why it left")                                                    \
    X(std::int64_t, process_started, "us", "start of its process, since 1970; 0: not known")          \
    X(std::int64_t, job_started, "us", "start of its batch job, since 1970; 0: not known")            \
    X(std::int64_t, job_ends, "us", "time limit of its batch job, since 1970; 0: none, or not known") \
    X(std::int64_t, allocated_cores, "cores", "allocated to its batch job on its host; 0: not known") \
    X(FixedText<64>, job, "1", "id of its batch job")

#define WQ_CATEGORY_COLUMNS(X)                                                                    \
    X(std::uint32_t, category, "1", "id of the category")                                         \
    X(std::uint32_t, reserved, "1", "0")                                                          \
    X(std::int64_t, changed, "us", "when this row last changed, since 1970")                      \
    X(double, max_cores, "cores", "limit of a task; -1: none")                                    \
    X(std::int64_t, max_memory, "MB", "limit of a task; -1: none")                                \
    X(std::int64_t, max_disk, "MB", "limit of a task; -1: none")                                  \
    X(double, max_gpus, "GPUs", "limit of a task; -1: none")                                      \
    X(double, first_cores, "cores", "size of a first attempt; -1: not set, -2: whole worker")     \
    X(std::int64_t, first_memory, "MB", "size of a first attempt; -1: not set, -2: whole worker") \
    X(std::int64_t, first_disk, "MB", "size of a first attempt; -1: not set, -2: whole worker")   \
    X(double, first_gpus, "GPUs", "size of a first attempt; -1: not set, -2: whole worker")       \
    X(FixedText<16>, mode, "1", "how first attempts are sized")                                   \
    X(FixedText<64>, name, "1", "name of the category")                                           \
    X(double, min_cores, "cores", "least computed size; -1: not set")                             \
    X(std::int64_t, min_memory, "MB", "least computed size; -1: not set")                         \
    X(std::int64_t, min_disk, "MB", "least computed size; -1: not set")                           \
    X(double, min_gpus, "GPUs", "least computed size; -1: not set")

#define WQ_ASK_COLUMNS(X)                                                                    \
    X(std::uint32_t, ask, "1", "id of the ask, from 1; 1000: all asks beyond the first 999") \
    X(std::uint32_t, coprocesses, "coprocesses", "1: remote tasks")                          \
    X(double, cores, "cores", "of a task; -1: not specified, as in the next columns")        \
    X(double, gpus, "GPUs", "of a task")                                                     \
    X(std::int64_t, memory, "MB", "of a task")                                               \
    X(std::int64_t, disk, "MB", "of a task")                                                 \
    X(FixedText<128>, features, "1", "features that its worker must have, with commas")

#define WQ_WORKER_CHANGE_COLUMNS(X)                                                                          \
    X(std::int64_t, time, "us", "of the change, since 1970")                                                 \
    X(std::uint32_t, worker, "1", "id of the worker (/workers)")                                             \
    X(std::uint32_t, reserved, "1", "0")                                                                     \
    X(FixedText<16>, change, "1", "joined, draining, stays, excluded, admitted, disconnected, back or left") \
    X(FixedText<64>, why, "1", "why, if there is more to say")

#define WQ_WAITING_COLUMNS(X)                                                                  \
    X(std::int64_t, time, "us", "since 1970; holds until the next row of this ask and reason") \
    X(std::uint64_t, tasks, "tasks", "that wait")                                              \
    X(std::uint32_t, ask, "1", "id of what they ask for (/asks); 0: of any")                   \
    X(std::uint32_t, reserved, "1", "0")                                                       \
    X(FixedText<16>, reason, "1",                                                              \
      "tasks, start_time, limit, busy, no_worker, nowhere, hosts, storage, stopping or program")

#define WQ_TRANSFER_COLUMNS(X)                                            \
    X(std::int64_t, time, "us", "end of the transfer, since 1970")        \
    X(std::int64_t, task, "1", "number of the task it was for")           \
    X(std::uint64_t, bytes, "bytes", "size of the file")                  \
    X(std::int64_t, wall, "us", "how long it took")                       \
    X(std::uint32_t, worker, "1", "id of the worker")                     \
    X(Direction, direction, "1", "input: to the worker, output: from it") \
    X(Flag, cached, "1", "the worker caches it or had it cached")         \
    X(std::uint16_t, reserved, "1", "0")                                  \
    X(FixedText<96>, name, "1", "name of the file at the worker, cut to 96 bytes")

#define WQ_SLICE_COLUMNS(X)                                                          \
    X(std::int64_t, taken, "us", "by the clock of its host, since 1970")             \
    X(std::int64_t, committed, "us", "by the clock of its host, since 1970")         \
    X(std::uint64_t, position, "1", "in the order of all epochs, from 0")            \
    X(std::uint64_t, epoch, "1", "from 0")                                           \
    X(std::uint64_t, slice, "1", "number in the plan, from 0")                       \
    X(std::uint64_t, first, "1", "first record of the slice; 0: it is a whole work") \
    X(std::uint64_t, end, "1", "one past its last record; 0: it is a whole work")    \
    X(std::uint32_t, rank, "1", "who committed it")                                  \
    X(std::uint32_t, failed, "1", "1: committed, but its work was in vain")          \
    X(FixedText<64>, work, "1", "name of the work, cut to 64 bytes")

#define WQ_SLICE_QUEUE_COLUMNS(X)                                                    \
    X(std::int64_t, timestamp, "us", "when the row was taken, since 1970")           \
    X(std::int64_t, time_when_started, "us", "start of the SliceQueue, since 1970")  \
    X(std::uint64_t, positions, "slices", "of all epochs")                           \
    X(std::uint64_t, slices, "slices", "of one epoch")                               \
    X(std::uint64_t, committed, "slices", "of all epochs; with at_most_once: given") \
    X(std::uint64_t, left, "slices", "not given yet, or to be given again")          \
    X(double, fraction_left, "1", "left / positions")                                \
    X(std::uint64_t, epoch, "1", "the first one that is not committed, from 0")      \
    X(std::uint64_t, given_again, "slices", "of lost ranks, so far")                 \
    X(std::uint32_t, ranks, "ranks", "that take now")                                \
    X(std::uint32_t, waiting, "ranks", "for a slice")                                \
    X(std::uint32_t, lost_ranks, "ranks", "so far")                                  \
    X(std::uint32_t, stragglers, "ranks", "that have taken fewer than half as many as the median rank")

#define WQ_SLICE_RANK_COLUMNS(X)                                           \
    X(std::int64_t, timestamp, "us", "when the row was taken, since 1970") \
    X(std::uint64_t, taken, "slices", "so far")                            \
    X(std::uint32_t, rank, "1", "number of the rank")                      \
    X(std::uint32_t, is_here, "1", "0: it has left, or was lost")

// /manager: time, then the manual's table.
#define WQ_MANAGER_TIME_COLUMNS(X)                                         \
    X(std::int64_t, timestamp, "us", "when the row was taken, since 1970") \
    X(std::int64_t, time_when_started, "us", "start of the manager, since 1970")

#define WQ_ROW_FIELD(type, name, unit, meaning) type name{};
#define WQ_ALIAS_FIELD(type, name, of, unit, meaning) type name{};
struct TaskRow {
    WQ_TASK_COLUMNS(WQ_ROW_FIELD)
};
struct WorkerRow {
    WQ_WORKER_COLUMNS(WQ_ROW_FIELD)
};
struct CategoryRow {
    WQ_CATEGORY_COLUMNS(WQ_ROW_FIELD)
};
struct AskRow {
    WQ_ASK_COLUMNS(WQ_ROW_FIELD)
};
struct WorkerChangeRow {
    WQ_WORKER_CHANGE_COLUMNS(WQ_ROW_FIELD)
};
struct WaitingRow {
    WQ_WAITING_COLUMNS(WQ_ROW_FIELD)
};
struct TransferRow {
    WQ_TRANSFER_COLUMNS(WQ_ROW_FIELD)
};
struct SliceRow {
    WQ_SLICE_COLUMNS(WQ_ROW_FIELD)
};
struct SliceQueueRow {
    WQ_SLICE_QUEUE_COLUMNS(WQ_ROW_FIELD)
};
struct SliceRankRow {
    WQ_SLICE_RANK_COLUMNS(WQ_ROW_FIELD)
};
struct ManagerRow {
    WQ_MANAGER_TIME_COLUMNS(WQ_ROW_FIELD)
    WQ_MANAGER_STATS(WQ_ROW_FIELD)
    WQ_MANAGER_ALIASES(WQ_ALIAS_FIELD)
    WQ_OWN_STATS(WQ_ROW_FIELD)
};
#undef WQ_ALIAS_FIELD
#undef WQ_ROW_FIELD

enum class Dataset : std::size_t {
    manager,
    tasks,
    workers,
    categories,
    transfers,
    slices,
    slice_queue,
    slice_ranks,
    asks,
    worker_changes,
    waiting
};
inline constexpr std::size_t dataset_count = 11;

// In the order of Dataset.
std::span<const Schema, dataset_count> schemas();
inline const Schema& schema_of(Dataset dataset) {
    return schemas()[static_cast<std::size_t>(dataset)];
}

}  // namespace wq::records::hdf5
