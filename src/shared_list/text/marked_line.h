// The trail of tries at the end of a line: ` # worker 3 # (07-28 15:52:33 ... 07-28 15:52:36) #ok`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "engine/tasklist/list.h"

namespace wq::shared_list::text {

// One line of a task list that workers of `runtask` share, with the marks that they leave on it:
//
//   echo a #:g                                                                  open: it waits
//   #echo a #:g # worker 3 # (07-28 15:52:33 ...                                 running
//   #echo a #:g # worker 3 # (07-28 15:52:33 ... 07-28 15:52:36) #ok             done
//   echo a #:g # worker 3 # (07-28 15:52:33 ... 07-28 15:52:36) #error1          open: for other workers
//   #echo a #:g # worker 3 # (... 07-28 15:52:36) #error1 # worker 4 # (07-28 15:53:00 ...
//   echo a #:g # worker 3 # (07-28 15:52:33 ... 07-28 15:53:40) #lost            open: its worker was lost
//
// The format is that of DistributedTaskQueue, except `#lost`, which it takes for a comment. Blanks around a
// line are removed when it is first marked; a CR before the line's end stays.

using WorkerId = std::uint32_t;                    // `# worker K #`, `#@K`; the first worker of a list is 0
inline constexpr WorkerId no_worker = 0xFFFFFFFF;  // of a `#@` without a number: no worker has it

enum class TryEnd : std::uint8_t { running, ok, error, lost };

// One attempt of a worker at the line.
struct LineTry {
    WorkerId worker = 0;
    std::string begun;  // "MM-DD HH:MM:SS"
    std::string ended;  // the same, perhaps after "line+2 "; empty: it runs
    TryEnd end = TryEnd::running;
    int exit_code = 0;  // of TryEnd::error
    bool operator==(const LineTry&) const = default;
};

enum class LineKind : std::uint8_t {
    text,         // nothing to run: blank, a comment, or a whole line of marks such as `#LASTWORKER 3`
    environment,  // `#!`: each worker runs it in its own shell; never marked
    open,         // waits for a worker
    running,      // begun and not ended
    done,         // `#ok`
    barrier       // a bare `#:` without a command: lines below it wait for all lines above it
};

struct MarkedLine {
    std::string text;  // the line as it stands in the file, without LF or CR LF
    LineKind kind = LineKind::text;
    bool carriage_return = false;
    std::string command;            // what a shell runs: no marks, no leading `#`, with tags
    std::vector<WorkerId> workers;  // `#@K`; empty: any
    std::vector<engine::tasklist::GroupMembership> groups;  // as written; name "": `#:`; without a bare `#+`
    std::vector<LineTry> tries;                             // in the order of their marks
};

// Tags are looked for in the shell's comment of a line only: `echo '#:a'` has none. A tag ends at the next
// `#`, and blanks at its end are no part of it; a group's name may contain blanks.
MarkedLine parse_line(std::string_view text);

// The text before the first `#`, less the leading `#` of a begun line and blanks: by it the end of a task
// finds its line again after the list was edited.
std::string_view searched_text(std::string_view line);

// The line's new text.
std::string begun(const MarkedLine& line, WorkerId worker, std::string_view stamp);
// Ends the last try. `moved`: how many lines below its old place the line was found; 0: at its place.
struct EndMark {
    std::string stamp;
    TryEnd end = TryEnd::ok;
    int exit_code = 0;
    std::int64_t moved = 0;
};
std::string ended(const MarkedLine& line, const EndMark& mark);
// The line that records an end whose line is gone: `#?line:7# echo a # worker 3 # (BEGUN ... ENDED) #ok`.
std::string orphaned(std::uint64_t number, std::string_view command, WorkerId worker, std::string_view begun,
                     const EndMark& mark);
// The line without its marks, as it was before any worker began it.
std::string unmarked(const MarkedLine& line);

// `#LASTWORKER K`, `# worker K: NAME (STAMP)`, `#?line:...`: lines that only runs leave.
bool is_run_mark(std::string_view text);
std::optional<std::int64_t> last_worker(std::string_view text);  // K of `#LASTWORKER K`; -1: none yet
std::string last_worker_line(std::int64_t worker);
std::string worker_line(WorkerId worker, std::string_view name, std::string_view stamp);
struct WorkerMark {
    WorkerId worker = 0;
    std::string name;
    std::string stamp;
};
std::optional<WorkerMark> worker_of(std::string_view text);  // of `# worker K: NAME (STAMP)`

struct Trail {
    std::string_view before;     // the line without it and the blanks before it
    std::vector<LineTry> tries;  // empty: there is none
};

// Text that somebody has written behind or into a trail is skipped.
Trail split_trail(std::string_view line);

// Blanks and words of marked lines.

inline constexpr std::string_view blanks = " \t\r\v\f";

inline std::string_view trim_right(std::string_view text) {
    const std::size_t last = text.find_last_not_of(blanks);
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

inline std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view() : trim_right(text.substr(first));
}

// Removes `prefix` from the front of `rest`; false: it begins otherwise.
inline bool take_text(std::string_view& rest, std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
}

}  // namespace wq::shared_list::text
