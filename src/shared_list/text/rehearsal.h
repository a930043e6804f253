// `runtask --check`: what would run where and in which order, if every task took the same time and succeeded.
// Lines that run already have succeeded before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

struct Rehearsed {
    std::uint64_t step = 0;  // from 1: tasks of one step run at the same time
    WorkerId worker = 0;
    std::uint64_t number = 0;  // of the line
    bool environment = false;
};

// A line that no worker would run, and why.
struct NeverRuns {
    std::uint64_t number = 0;
    std::string why;
};

// A worker that stops taking lines of this list.
struct Leaves {
    WorkerId worker = 0;
    std::uint64_t number = 0;  // at this `#!` line
    std::string next;          // the list that it goes to, as written; "": it ends
};

struct Rehearsal {
    std::vector<Rehearsed> runs;
    std::vector<NeverRuns> never;
    std::vector<Leaves> leaves;
};

// `workers` workers with the ids from 0 on.
Rehearsal rehearse(const Document& list, WorkerId workers);

// Workers that the list speaks of: the largest `#@` or id so far, plus one.
WorkerId workers_named(const Document& list);

// Tables of both, for people.
std::string rehearsal_text(const Document& list, const Rehearsal& rehearsal);

}  // namespace wq::shared_list::text
