// Task sources other than a list: `--array 1-1000000:2,8 -- CMD {}` and `--each FILE -- CMD {}`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wq::engine::tasklist {

// The variable with a task's index in --array or --each.
inline constexpr const char* index_variable_name = "WORK_QUEUE_TASK_INDEX";

// `--array`: first, first+step, ... up to and including last.
struct IndexRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t step = 1;
    std::uint64_t count() const { return (last - first) / step + 1; }
    bool operator==(const IndexRange&) const = default;
};

// A sequence of distinct indexes in the order given, stored as ranges: memory does not grow with their
// number.
class IndexSet {
  public:
    // "1-1000000", "1-100:5", "3,7,10-20" (Slurm's array grammar without %throttle). Error usage: bad
    // grammar, first > last, step 0, a duplicate index (found without enumerating the ranges), an index above
    // 2^62 or more than 2^62 in total.
    static Result<IndexSet> parse(std::string_view text);
    std::uint64_t count() const { return count_; }
    std::uint64_t at(std::uint64_t n) const;  // the n-th index, from 0; n < count()
    const std::vector<IndexRange>& ranges() const { return ranges_; }
    std::string text() const;  // parse() of it gives this set

  private:
    std::vector<IndexRange> ranges_;
    std::vector<std::uint64_t> starts_;  // how many indexes precede each range
    std::uint64_t count_ = 0;
};

// `-- CMD ARG {} ...`: a single word is a shell line in which each `{}` becomes the value, quoted for the
// shell, also within quotes; of several words each is quoted, and `{}` in it becomes the value unchanged.
// Without any `{}` the value is appended as a last word. `\{}` in a shell line stays.
class CommandTemplate {
  public:
    explicit CommandTemplate(std::vector<std::string> words);
    // A shell line; it contains a newline only if a word or the value does.
    const std::vector<std::string>& words() const { return words_; }
    std::string render(std::string_view value) const;
    // For messages and fingerprints: the quoted words; different templates give different texts.
    std::string describe() const;
    // Error usage: a `{}` where quoting is impossible, within backticks or `${ }`.
    Status check() const;

  private:
    struct Placeholder {
        std::size_t at;
        char around;  // as ShellScan::around
    };
    std::string fill_line(std::string_view value) const;

    std::vector<std::string> words_;
    std::vector<Placeholder> places_;  // in a shell line
};

// `text` as one word for a POSIX shell; unchanged if it needs no quoting. A word cannot contain NUL.
std::string shell_quote(std::string_view text);
// The same for the first word of a command: quoted also if it would be an assignment, a reserved word or a
// builtin (which stays a builtin).
std::string shell_quote_command(std::string_view word);

// Whether a POSIX shell would do more with the line than split it at blanks and execute it: quotes,
// expansions, redirections, operators, assignments before the command, reserved words and builtins, `~`, `#`.
// If in doubt: yes (bytes above 0x7F, an empty line, `module`, builtins whose program differs, such as `kill`
// and `printf`; but not `echo`, `true` and `false` without options). Other lines are split into words for
// execve.
bool needs_shell(std::string_view line);
std::vector<std::string> split_words(std::string_view line);  // only for lines that need no shell

// A line's TaskKey: 64-bit hash of the text, mixed with the number of equal lines above it. Journals store
// it: the same on every machine and in every version.
std::uint64_t content_key(std::string_view text, std::uint32_t occurrence);

}  // namespace wq::engine::tasklist
