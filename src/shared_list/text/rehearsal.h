// The lines of a list that wait for no other line, kept up to date while lines begin and end. It finds what
// choose() finds, without looking at every line: for rehearsals of long lists.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared_list/text/choice.h"
#include "shared_list/text/document.h"

namespace wq::shared_list::text {

class ReadyLines {
  public:
    // No line of the list runs. It must outlive this, and its lines keep their numbers and commands.
    explicit ReadyLines(const Document& list);

    // As the function choose().
    std::optional<Choice> choose(WorkerId worker, std::uint64_t last) const;
    void begin(std::uint64_t number);
    void end(std::uint64_t number);  // ok

  private:
    using Numbers = std::set<std::uint64_t>;
    struct Group {
        Numbers members;     // `#:g` and `#+g`
        Numbers sequential;  // `#:g`
    };
    struct Free {
        Numbers of_any;
        std::map<WorkerId, Numbers> of_worker;  // with `#@`
        void add(std::uint64_t number, const MarkedLine& line);
        void remove(std::uint64_t number, const MarkedLine& line);
        std::uint64_t last_before(std::uint64_t number, WorkerId worker) const;
    };
    void add_undone(std::uint64_t number);
    void remove_undone(std::uint64_t number);
    std::uint64_t blocker(std::uint64_t number) const;
    void resolve(std::vector<std::uint64_t> numbers);
    std::uint64_t first_task(WorkerId worker) const;
    std::uint64_t first_environment(WorkerId worker, std::uint64_t after) const;

    const Document& list_;
    Numbers undone_;    // lines that others may wait for
    Numbers barriers_;  // of these
    std::map<std::string, Group, std::less<>> groups_;
    std::map<std::uint64_t, std::vector<std::uint64_t>> waiting_;  // by a line that they wait for
    Free tasks_;
    Free environment_;
};

// `runtask --check`: what would run where and in which order, if every task took the same time and succeeded.
// Lines that run already have succeeded before the first step.
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
