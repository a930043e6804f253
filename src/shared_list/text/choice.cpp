#include "shared_list/text/choice.h"

#include <algorithm>
#include <map>

namespace wq::shared_list::text {

namespace {

// What the lines above block, each with the first line that does.
class Blockers {
  public:
    // The line that `line` must wait for; 0: none. `group`: in which group.
    std::uint64_t blocks(const MarkedLine& line, std::string& group) const {
        if (barrier_ != 0) return barrier_;
        for (const auto& membership : line.groups) {
            const std::uint64_t by = blocks(membership);
            if (by == 0) continue;
            group = membership.name;
            return by;
        }
        return 0;
    }
    // A line that is not `#ok` stands at `number`.
    void add(std::uint64_t number, const MarkedLine& line) {
        if (any_ == 0) any_ = number;
        for (const auto& [name, sequential] : line.groups) {
            if (name.empty()) {
                if (barrier_ == 0) barrier_ = number;
                continue;
            }
            Group& group = groups_[name];
            if (group.member == 0) group.member = number;
            if (sequential && group.sequential == 0) group.sequential = number;
        }
    }
    bool all_blocked() const { return barrier_ != 0; }

  private:
    struct Group {
        std::uint64_t member = 0;      // `#:g` or `#+g`
        std::uint64_t sequential = 0;  // `#:g`
    };
    std::uint64_t blocks(const engine::tasklist::GroupMembership& membership) const {
        if (membership.name.empty()) return membership.sequential ? any_ : 0;
        const auto group = groups_.find(membership.name);
        if (group == groups_.end()) return 0;
        return membership.sequential ? group->second.member : group->second.sequential;
    }

    std::uint64_t any_ = 0;
    std::uint64_t barrier_ = 0;
    std::map<std::string, Group, std::less<>> groups_;
};

bool allows(const MarkedLine& line, WorkerId worker) {
    return line.workers.empty() || std::ranges::find(line.workers, worker) != line.workers.end();
}

// A bare `#:` is done when nothing above it waits or runs.
bool is_passed(const MarkedLine& line, const Blockers& above) {
    std::string group;
    return line.kind == LineKind::barrier && above.blocks(line, group) == 0;
}

// How the try that runs ends with the choice.
TryEnd end_of(const MarkedLine& line, std::span<const End> ends) {
    if (line.kind != LineKind::running || ends.empty()) return TryEnd::running;
    const LineTry& attempt = line.tries.back();
    const auto end = std::ranges::find_if(ends, [&](const End& one) {
        return one.worker == attempt.worker && one.begun == attempt.begun && one.command == line.command;
    });
    return end == ends.end() ? TryEnd::running : end->end;
}

}  // namespace

bool has_tried(const MarkedLine& line, WorkerId worker) {
    return std::ranges::any_of(line.tries, [&](const LineTry& attempt) {
        return attempt.worker == worker && attempt.end != TryEnd::lost;
    });
}

std::optional<Choice> choose(const Document& list, WorkerId worker, std::uint64_t last,
                             std::span<const End> ends) {
    Blockers above;
    std::string group;
    std::uint64_t environment = 0;
    for (const std::uint64_t number : list.live_lines()) {
        if (above.all_blocked()) return std::nullopt;
        const MarkedLine& line = list.line(number);
        if (is_passed(line, above) || end_of(line, ends) == TryEnd::ok) continue;
        const bool may = line.kind != LineKind::running && line.kind != LineKind::barrier &&
                         allows(line, worker) && above.blocks(line, group) == 0;
        if (line.kind == LineKind::environment) {
            if (may && number > last) return Choice{number, true, 0};
            if (may) environment = number;
            continue;
        }
        if (may && !has_tried(line, worker)) return Choice{number, false, number < last ? environment : 0};
        above.add(number, line);
    }
    return std::nullopt;
}

std::uint64_t replayed_before(const Document& list, WorkerId worker, std::uint64_t number,
                              std::uint64_t last) {
    std::uint64_t environment = 0;
    if (number >= last) return 0;
    for (const std::uint64_t at : list.live_lines()) {
        if (at >= number) break;
        if (list.line(at).kind == LineKind::environment && allows(list.line(at), worker)) environment = at;
    }
    return environment;
}

Waiting why_waiting(const Document& list, WorkerId worker) {
    Waiting why;
    Blockers above;
    for (const std::uint64_t number : list.live_lines()) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::environment || is_passed(line, above)) continue;
        std::string group;
        if (line.kind == LineKind::running) {
            ++why.running;
        } else if (line.kind == LineKind::open && !allows(line, worker)) {
            ++why.others;
        } else if (line.kind == LineKind::open && has_tried(line, worker)) {
            ++why.tried;
        } else if (line.kind == LineKind::open) {
            const std::uint64_t by = above.blocks(line, group);
            if (by != 0) ++why.blocked;
            if (by != 0 && why.first_blocked == 0) {
                why.first_blocked = number;
                why.blocked_by = by;
                why.group = group;
            }
        }
        above.add(number, line);
    }
    if (why.running != 0) why.may_become_free = why.blocked;
    return why;
}

std::uint64_t first_misaddressed(const Document& list) {
    for (const std::uint64_t number : list.live_lines()) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::open && std::ranges::find(line.workers, no_worker) != line.workers.end())
            return number;
    }
    return 0;
}

std::map<std::uint64_t, BlockedBy> blocked_lines(const Document& list) {
    std::map<std::uint64_t, BlockedBy> blocked;
    Blockers above;
    for (const std::uint64_t number : list.live_lines()) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::environment || is_passed(line, above)) continue;
        std::string group;
        const std::uint64_t by = line.kind == LineKind::open ? above.blocks(line, group) : 0;
        if (by != 0) blocked[number] = {by, group};
        above.add(number, line);
    }
    return blocked;
}

}  // namespace wq::shared_list::text
