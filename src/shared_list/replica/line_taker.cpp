#include "shared_list/replica/line_taker.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace wq::shared_list::replica {

namespace {

using text::Choice;
using text::Document;
using text::Edit;
using text::End;
using text::LineKind;
using text::MarkedLine;
using text::Take;
using text::TryEnd;

bool runs(const MarkedLine& line, text::WorkerId worker, const std::string& begun) {
    return line.kind == LineKind::running && line.tries.back().worker == worker &&
           line.tries.back().begun == begun;
}

bool still_runs(const Document& list, const End& end) {
    return list.nearest(end.number, [&](const MarkedLine& line) {
        return runs(line, end.worker, end.begun) && line.command == end.command;
    }) != 0;
}

bool same_try(const End& one, const End& other) {
    return one.worker == other.worker && one.begun == other.begun && one.number == other.number &&
           one.command == other.command;
}

// Removes from `ends` those that were made.
void drop_made(std::vector<End>& ends, const std::vector<Edit>& made) {
    for (const Edit& edit : made) {
        if (const auto* const end = std::get_if<End>(&edit))
            std::erase_if(ends, [&](const End& one) { return same_try(one, *end); });
    }
}

}  // namespace

Result<std::optional<Choice>> LineTaker::step(bool may_begin) {
    decided_now_ = false;
    const auto made = list_.change(purpose_, [&](const Document& list) { return decide(list, may_begin); });
    if (!made) return made.error();
    // What was made may be an earlier decision, of which no answer had come: its numbers are those of that
    // time.
    const bool as_decided = decided_now_ && *made == decided_;
    auto next = as_decided ? std::exchange(next_, std::nullopt) : begun(*made);
    if (as_decided)
        ends_.clear();
    else
        drop_made(ends_, *made);
    if (next) list_.move_to(next->number, worker_);
    return next;
}

std::vector<Edit> LineTaker::decide(const Document& list, bool may_begin) {
    std::vector<Edit> edits;
    for (End& end : ends_) {
        if (end.stamp.empty()) end.stamp = list_.stamp();
        if (end.end != TryEnd::lost || still_runs(list, end)) edits.emplace_back(end);
    }
    next_ = may_begin ? choose(list, worker_, list_.place(worker_), ends_) : std::nullopt;
    if (next_ && !next_->environment)
        edits.emplace_back(Take{next_->number, worker_, list_.stamp(),
                                std::string(text::searched_text(list.line(next_->number).text))});
    decided_ = edits;
    decided_now_ = true;
    return edits;
}

// The line of an earlier decision.
std::optional<Choice> LineTaker::begun(const std::vector<Edit>& made) const {
    const Document& list = list_.list();
    for (const Edit& edit : made) {
        const auto* const take = std::get_if<Take>(&edit);
        if (take == nullptr) continue;
        const std::uint64_t number = list.nearest(take->number, [&](const MarkedLine& line) {
            return runs(line, worker_, take->stamp) && text::searched_text(line.text) == take->searched;
        });
        if (number != 0)
            return Choice{number, false, text::replayed_before(list, worker_, number, list_.place(worker_))};
    }
    return std::nullopt;
}

bool LineTaker::is_taken_away(std::uint64_t number, const std::string& begun,
                              const std::string& command) const {
    const Document& list = list_.list();
    if (number >= 1 && number <= list.lines() && runs(list.line(number), worker_, begun)) return false;
    const auto is_lost = [&](const auto& one) {
        return one.worker == worker_ && one.begun == begun && one.end == TryEnd::lost;
    };
    return list.nearest(number, [&](const MarkedLine& line) {
        return line.command == command && std::ranges::any_of(line.tries, is_lost);
    }) != 0;
}

Result<std::optional<Jump>> jump_of(const JumpVariables& set, text::WorkerId id,
                                    const store::ListPlace& place) {
    const bool jumps = !set.jumpto.empty();
    if (!jumps && set.newtask.empty() && set.newid.empty()) return std::optional<Jump>();
    Jump jump{place, std::nullopt, !jumps && set.newtask.empty()};
    if (!jump.same_list) {
        auto next = store::list_place(jumps ? set.jumpto : set.newtask, place.host);
        if (!next) return next.error();
        jump.place = std::move(*next);
    }
    if (jumps) {
        jump.id = id;
    } else if (!set.newid.empty()) {
        const auto number = parse_count(set.newid, 0, std::int64_t{text::no_worker} - 1);
        if (!number) return Error{number.error().code, "newid: " + number.error().message};
        jump.id = static_cast<text::WorkerId>(*number);
    }
    return std::optional(std::move(jump));
}

}  // namespace wq::shared_list::replica
