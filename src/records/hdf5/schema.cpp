#include "records/hdf5/schema.h"

#include <array>
#include <iterator>

namespace wq::records::hdf5 {

namespace {

#define WQ_COLUMN(type, name, unit, meaning) \
    Column{#name, column_type<type>, offsetof(Row, name), sizeof(type), unit, meaning},
#define WQ_ALIAS_COLUMN(type, name, of, unit, meaning) WQ_COLUMN(type, name, unit, meaning)

// The file grows by whole chunks, so a short run pays for the first ones: 4.9 MB with chunks of 4096 rows.
// Flushes of 300 rows are as fast with chunks of 512 as of 4096 (1.7 and 1.5 M rows/s); flushes of 65,536
// rows are slower (4.4 and 5.2 M/s at best). Datasets without a row per task have few rows even in a long
// run.
constexpr std::size_t rows_by_task = 512;
constexpr std::size_t rows_by_run = 64;

template <class Row>
struct Columns;

#define WQ_COLUMNS_OF(RowType, ...)                    \
    template <>                                        \
    struct Columns<RowType> {                          \
        using Row = RowType;                           \
        static constexpr Column all[] = {__VA_ARGS__}; \
    }

WQ_COLUMNS_OF(ManagerRow, WQ_MANAGER_TIME_COLUMNS(WQ_COLUMN) WQ_MANAGER_STATS(WQ_COLUMN)
                              WQ_MANAGER_ALIASES(WQ_ALIAS_COLUMN) WQ_OWN_STATS(WQ_COLUMN));
WQ_COLUMNS_OF(TaskRow, WQ_TASK_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(WorkerRow, WQ_WORKER_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(CategoryRow, WQ_CATEGORY_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(AskRow, WQ_ASK_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(WorkerChangeRow, WQ_WORKER_CHANGE_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(WaitingRow, WQ_WAITING_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(TransferRow, WQ_TRANSFER_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(SliceRow, WQ_SLICE_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(SliceQueueRow, WQ_SLICE_QUEUE_COLUMNS(WQ_COLUMN));
WQ_COLUMNS_OF(SliceRankRow, WQ_SLICE_RANK_COLUMNS(WQ_COLUMN));

template <class Row>
constexpr Schema schema(const char* name, std::size_t chunk_rows, const char* meaning) {
    std::size_t bytes = 0;
    for (const Column& column : Columns<Row>::all) bytes += column.bytes;
    // A gap between columns would write uninitialized bytes to the file.
    if (bytes != sizeof(Row)) throw "row with gaps";
    return {name, meaning, sizeof(Row), chunk_rows, Columns<Row>::all};
}

constexpr std::array<Schema, dataset_count> all_schemas{
    schema<ManagerRow>(
        "manager", rows_by_run,
        "the manager's time series: ten rows a second at first, fewer in a long run, one in ten "
        "seconds while nothing happens"),
    schema<TaskRow>("tasks", rows_by_task,
                    "a row for every attempt of a task that ended, in the order of their ends"),
    schema<WorkerRow>("workers", rows_by_run, "a row for every worker that joined; rewritten when it leaves"),
    schema<CategoryRow>("categories", rows_by_run, "a row for every category"),
    schema<TransferRow>("transfers", rows_by_task, "a row for every file sent or received"),
    schema<SliceRow>("slices", rows_by_task,
                     "a row for every slice that was committed, if the program asks for it"),
    schema<SliceQueueRow>("slice_queue", rows_by_run, "the time series of a SliceQueue"),
    schema<SliceRankRow>("slice_ranks", rows_by_task, "a row for every rank and sample of a SliceQueue"),
    schema<AskRow>("asks", rows_by_run, "a row for everything different that tasks ask for"),
    schema<WorkerChangeRow>("worker_changes", rows_by_run, "a row for every change of a worker's state"),
    schema<WaitingRow>(
        "waiting", rows_by_run,
        "how many tasks wait, by ask and reason: rows as of /manager, if a number has changed"),
};

}  // namespace

std::span<const Schema, dataset_count> schemas() {
    return all_schemas;
}

}  // namespace wq::records::hdf5
