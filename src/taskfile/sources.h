// Task sources besides a list: `--array 1-1000000:2,7 -- CMD {}` and `--each FILE -- CMD {}`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wq::taskfile {

// `--array`: first, first+step, ... up to and including last.
struct IndexRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t step = 1;
    std::uint64_t count() const { return (last - first) / step + 1; }
};

// A sequence of indexes held as ranges: memory does not grow with their number.
class IndexSet {
  public:
    // "1-1000000", "1-100:5", "3,7,10-20" (Slurm's array grammar without the %throttle). Error usage: bad grammar,
    // first > last, step 0, an index given twice, more than 2^62 in all.
    static Result<IndexSet> parse(std::string_view text);
    std::uint64_t count() const { return count_; }
    std::uint64_t at(std::uint64_t n) const;  // the n-th index, n < count()
    const std::vector<IndexRange>& ranges() const { return ranges_; }

  private:
    std::vector<IndexRange> ranges_;
    std::uint64_t count_ = 0;
};

// `-- CMD ARG {} ...`: with one word it is a shell line in which each `{}` becomes the value, quoted for the shell;
// with several words each word is quoted and `{}` in it becomes the value as it is. Without any `{}` the value is
// appended as a last word.
class CommandTemplate {
  public:
    explicit CommandTemplate(std::vector<std::string> words) : words_(std::move(words)) {}
    std::string render(std::string_view value) const;  // a shell line
    std::string describe() const;                      // for messages and fingerprints

  private:
    std::vector<std::string> words_;
};

// `text` as one word for a POSIX shell; unchanged where it needs no quoting.
std::string shell_quote(std::string_view text);

// Whether a POSIX shell would do more with the line than split it at blanks and execute it: quotes, expansions,
// redirections, operators, assignments before the command, reserved words and builtins, `~`, `#`. Lines without are
// split into words for execve.
bool needs_shell(std::string_view line);
std::vector<std::string> split_words(std::string_view line);  // only for lines that need no shell

// Content of a line for TaskKey: 64-bit hash of the text, mixed with how many equal lines stood above it.
std::uint64_t content_key(std::string_view text, std::uint32_t occurrence);

}  // namespace wq::taskfile
