// Figures of a run's tasks and nodes: how long tasks ran, how busy each node was, how much memory they asked
// for and used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "records/hdf5/schema.h"
#include "views/plot_figures.h"
#include "views/stats_attempts.h"

namespace wq::views {

// Takes the rows of /tasks one after the other, because a run may have millions.
class TaskFigures {
  public:
    // `categories`: rows of /categories.
    TaskFigures(WorkerRows workers, std::span<const records::hdf5::CategoryRow> categories);

    void add(const records::hdf5::TaskRow& task);
    std::vector<Figure> figures() const;  // without empty ones

  private:
    struct Ran {
        double seconds = 0;  // each
        std::uint32_t calls = 1;
        bool succeeded = false;
        std::uint32_t category = 0;
    };
    class Bins;
    struct Memory {
        double used_mb = 0;
        double allocated_mb = 0;
    };
    struct Node {
        double offered = 0;  // core-microseconds, as the next ones
        double allocated = 0;
        double cpu = 0;
    };
    Figure run_times() const;
    Figure run_times_by_category() const;
    Figure nodes() const;
    Figure memory() const;

    WorkerRows workers_;
    std::unordered_map<std::uint32_t, std::string> categories_;  // names by id
    std::vector<Ran> ran_;
    std::vector<Memory> memory_;
    std::vector<std::pair<double, double>> of_worker_;  // allocated and CPU, by place in workers_
};

// The figures of a SliceQueue: what is left, and how much each rank has taken.

// As make_plots(). Figures: slices, ranks (each of up to 8; of more, the fastest, the median and the slowest
// at each sample, of those that are there), waiting.
Plots make_slice_plots(std::span<const records::hdf5::SliceQueueRow> samples,
                       std::span<const records::hdf5::SliceRankRow> ranks, std::optional<TimeUnit> unit,
                       const std::optional<PlotRange>& range, std::size_t most_samples = 1600);

}  // namespace wq::views
