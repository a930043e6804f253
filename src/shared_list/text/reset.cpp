#include "shared_list/text/reset.h"

#include <algorithm>

namespace wq::shared_list::text {

std::string reset(const Document& list, std::uint64_t from) {
    std::string text;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        const bool stays = number < from;
        if (!stays && is_run_mark(line.text)) continue;
        text += stays ? line.text : unmarked(line);
        if (line.carriage_return) text += '\r';
        text += '\n';
    }
    return text;
}

std::uint64_t lines_reset(const Document& list, std::uint64_t from) {
    std::uint64_t lines = 0;
    for (std::uint64_t number = std::max<std::uint64_t>(from, 1); number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        if (line.kind != LineKind::text && !line.tries.empty()) ++lines;
    }
    return lines;
}

}  // namespace wq::shared_list::text
