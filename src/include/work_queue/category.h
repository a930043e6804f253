// Resource settings of similar tasks; see Manager::specify_category_mode() and the functions next to it.
#pragma once

#include <cstdint>
#include <string>

namespace [[gnu::visibility("default")]] wq {

// How a category finds the allocation of its tasks. Numbers are those of Work Queue.
enum class AllocationMode : int {
    fixed = 0,           // as specified
    max = 1,             // the largest usage of any task
    min_waste = 2,       // least unused resources
    max_throughput = 3,  // most tasks completed per time
    // For tasks of several sizes: the sizes of the last ones are cut into buckets; a task begins with the
    // size of a bucket, chosen by chance, and gets a larger one if that is too small.
    greedy_bucketing = 4,      // cuts where that leaves the least unused
    exhaustive_bucketing = 5,  // tries up to ten buckets
    det_greedy_bucketing = 6,  // the same two; a task begins with the smallest bucket
    det_exhaustive_bucketing = 7,
    quantized_bucketing = 8  // ten buckets of equally many tasks
};

// The largest usage of a category's tasks: "4" was specified, "~1011" is the largest measured, ">243" was not
// enough for a task, "na" is unknown. Memory and disk are MB of 2^20 bytes.
struct CategorySummary {
    std::string name;
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::int64_t fit_workers = 0;  // connected workers that are large enough
    std::string max_cores;
    std::string max_memory;
    std::string max_disk;
};

}  // namespace gnu::visibility("default")]]wq
