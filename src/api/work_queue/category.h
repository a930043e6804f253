// What tasks that are alike are given: see Manager::specify_category_mode() and its neighbours.
#pragma once

#include <cstdint>
#include <string>

namespace [[gnu::visibility("default")]] wq {

// How what a category's tasks are given is found. Numbers are those of Work Queue.
enum class AllocationMode : int {
    fixed = 0,          // as it was said
    max = 1,            // the most that any of them took
    min_waste = 2,      // so that little of what is given is not used
    max_throughput = 3  // so that as many as can be end in a time
};

// The most that a task of the category takes: "4" as it was said, "~1011" as it was seen so far, ">243" was
// too little, "na" nothing is known. Memory and disk are MB of 2^20 bytes.
struct CategorySummary {
    std::string name;
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::int64_t fit_workers = 0;  // workers that are here and hold such a task
    std::string max_cores;
    std::string max_memory;
    std::string max_disk;
};

}  // namespace wq
