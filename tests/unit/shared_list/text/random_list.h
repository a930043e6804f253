// Random lists and edits, the same for one seed.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "shared_list/text/choice.h"
#include "shared_list/text/document.h"

namespace wq::shared_list::text::testing {

class RandomList {
  public:
    explicit RandomList(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

    std::string line() {
        static const std::vector<std::string> commands{"echo a",          "echo b",           "echo '#:x'",
                                                       "sleep 1; true  ", "a \\\\ $x `y`",    "\xff\xfe",
                                                       "  indented",      "printf \"%s\" '#'"};
        static const std::vector<std::string> tags{"",     "",     "",     " #!", " #@1",    " #@0#@2",
                                                   " #:g", " #+g", " #:h", " #:", " #+g #@1"};
        if (one_in(8)) return one_in(2) ? "" : "# comment";
        return commands[below(commands.size())] + tags[below(tags.size())] + (one_in(12) ? "\r" : "");
    }
    std::string text(std::uint64_t lines) {
        std::string all;
        for (std::uint64_t at = 0; at < lines; ++at) all += line() + "\n";
        if (!all.empty() && one_in(3)) all.pop_back();
        return all;
    }
    std::string stamp() {
        ++time_;
        const auto two = [](std::uint64_t n) { return std::string(n < 10 ? "0" : "") + std::to_string(n); };
        return "01-0" + std::to_string(1 + time_ / 3600 % 9) + " 00:" + two(time_ / 60 % 60) + ":" +
               two(time_ % 60);
    }

    // What a worker of this list may do next, or somebody who misjudges it.
    Edit edit(const Document& list) {
        const auto worker = static_cast<WorkerId>(below(4));
        if (one_in(10)) return Join{worker, "host 1.2.3.4", stamp()};
        if (one_in(15)) return Append{"echo appended " + std::to_string(++time_) + "\n"};
        const std::uint64_t number = list.lines() == 0 ? 1 : 1 + below(list.lines());
        for (std::uint64_t at = number; at <= list.lines(); ++at) {
            const MarkedLine& line = list.line(at);
            const std::uint64_t said = one_in(6) ? at + below(3) : at;  // it moved since
            if (line.kind == LineKind::open)
                return Take{said, worker, stamp(), std::string(searched_text(line.text))};
            if (line.kind != LineKind::running) continue;
            const auto end = static_cast<TryEnd>(1 + below(3));
            return End{said, line.tries.back().worker,     line.tries.back().begun,           stamp(),
                       end,  end == TryEnd::error ? 7 : 0, one_in(20) ? "gone" : line.command};
        }
        return Join{worker, "host", stamp()};
    }

  private:
    std::mt19937_64 random_;
    std::uint64_t time_ = 0;
};

}  // namespace wq::shared_list::text::testing
