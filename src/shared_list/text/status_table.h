// `runtask --status`: what is done, what runs where since when, what failed, and what waits for what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

struct ListCounts {
    std::uint64_t done = 0;
    std::uint64_t running = 0;
    std::uint64_t failed = 0;   // by some worker; others may try
    std::uint64_t waiting = 0;  // never begun, or lost
};
ListCounts count(const Document& list);

// A worker's sign of life, in words: "12 s ago", "lost since 20 min".
struct WorkerSign {
    WorkerId worker = 0;
    std::string text;
};

// At most `most` lines that wait are shown; those that run or failed are all.
std::string status_table(const Document& list, const std::string& name, const std::vector<WorkerSign>& signs,
                         std::uint64_t most);

}  // namespace wq::shared_list::text
