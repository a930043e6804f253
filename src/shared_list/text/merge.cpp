#include "shared_list/text/merge.h"

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "base/text.h"

namespace wq::shared_list::text {

namespace {

const std::string& what_runs(const MarkedLine& line) {
    return line.kind == LineKind::text || line.kind == LineKind::barrier ? line.text : line.command;
}

std::string key_of(WorkerId worker, const std::string& begun, std::string_view command) {
    return std::to_string(worker) + "\t" + begun + "\t" + std::string(searched_text(command));
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) lines.push_back(next_line(text));
    return lines;
}

}  // namespace

Balance::Balance(const Document& known, const Document& edited) {
    count(known, -1);
    count(edited, 1);
    for (const auto& [command, more] : more_) is_old_copy_ |= more.is_old();
    remember_tries(known);
}

void Balance::count(const Document& list, std::int64_t by) {
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        More& more = more_[what_runs(line)];
        (line.kind == LineKind::done ? more.finished : more.unfinished) += by;
    }
}

void Balance::remember_tries(const Document& known) {
    for (std::uint64_t number = 1; number <= known.lines(); ++number) {
        const MarkedLine& line = known.line(number);
        if (line.tries.empty()) continue;
        using Need = KnownLine::Need;
        lines_.push_back({line.command, line.kind == LineKind::done ? Need::unknown : Need::yes});
        for (const LineTry& attempt : line.tries)
            tries_[key_of(attempt.worker, attempt.begun, line.command)].lines.push_back(lines_.size() - 1);
    }
}

bool Balance::knows(const Take& edit) const {
    return tries_.contains(key_of(edit.worker, edit.stamp, edit.searched));
}

void Balance::expect(const Append& edit) {
    for (const std::string_view line : split_lines(edit.text))
        ++more_[what_runs(parse_line(line))].unfinished;
}

std::string Balance::missing(const Append& edit) {
    std::string lines;
    for (const std::string_view line : split_lines(edit.text)) {
        More& more = more_[what_runs(parse_line(line))];
        const bool is_gone = more.unfinished + more.finished < 0;
        if (more.unfinished >= 0 && !(is_old_copy_ && is_gone)) continue;
        ++more.unfinished;
        lines.append(line) += '\n';
    }
    return lines;
}

bool Balance::admits(const Take& edit) {
    return admits(key_of(edit.worker, edit.stamp, edit.searched), &Tries::takes);
}

bool Balance::admits(const End& edit) {
    return admits(key_of(edit.worker, edit.begun, edit.command), &Tries::ends);
}

bool Balance::admits(const std::string& key, std::size_t Tries::*asked) {
    const auto found = tries_.find(key);
    if (found == tries_.end()) return false;
    Tries& tries = found->second;
    const std::size_t number = (tries.*asked)++;
    if (number >= tries.lines.size()) return false;
    KnownLine& line = lines_[tries.lines[number]];
    using Need = KnownLine::Need;
    if (line.need != Need::unknown) return line.need == Need::yes;
    More& more = more_[line.command];
    line.need = more.unfinished > 0 ? Need::yes : Need::no;
    if (line.need == Need::yes) --more.unfinished, ++more.finished;
    return line.need == Need::yes;
}

namespace {

// The marks that stand in a list.
class Marks {
  public:
    explicit Marks(const Document& list) {
        for (std::uint64_t number = 1; number <= list.lines(); ++number) {
            const MarkedLine& line = list.line(number);
            add(what_stands(line));
            lines_ += what_stands(line) + "\n";
            for (const LineTry& attempt : line.tries) add_try(line.command, attempt);
        }
    }

    // Its lines stand one after the other.
    bool stands_already(const Append& edit) const {
        std::string lines = "\n";
        for (std::string_view rest = edit.text; !rest.empty();)
            lines += what_stands(parse_line(next_line(rest))) + "\n";
        return lines_.find(lines) != std::string::npos;
    }

    bool stands(const Edit& edit) const {
        if (const auto* join = std::get_if<Join>(&edit))
            return has(worker_line(join->worker, join->name, join->stamp));
        if (const auto* take = std::get_if<Take>(&edit))
            return has(begun_key(take->worker, take->stamp, take->searched));
        if (const auto* end = std::get_if<End>(&edit)) return stands(*end);
        return false;  // the same line may stand there for another reason
    }

  private:
    static std::string what_stands(const MarkedLine& line) {
        return line.kind == LineKind::text || line.kind == LineKind::barrier ? line.text : line.command;
    }
    static std::string begun_key(WorkerId worker, std::string_view begun, std::string_view searched) {
        return std::to_string(worker) + "\t" + std::string(begun) + "\t" + std::string(searched);
    }
    static std::string_view stamp_of(std::string_view ended) {  // without "line+2 "
        return ended.size() > 14 ? ended.substr(ended.size() - 14) : ended;
    }
    void add(std::string_view text) { marks_.insert(std::string(text)); }
    void add_try(std::string_view command, const LineTry& attempt) {
        const std::string key = begun_key(attempt.worker, attempt.begun, searched_text(command));
        marks_.insert(key);
        if (attempt.end != TryEnd::running) marks_.insert(key + "\t" + std::string(stamp_of(attempt.ended)));
    }
    bool has(const std::string& mark) const { return marks_.count(mark) != 0; }
    bool stands(const End& end) const {
        const std::string key = begun_key(end.worker, end.begun, searched_text(end.command));
        return has(key + "\t" + end.stamp) || has(orphaned(end.number, end.command, end.worker, end.begun,
                                                           {end.stamp, end.end, end.exit_code, 0}));
    }

    std::set<std::string> marks_;
    std::string lines_ = "\n";  // without marks
};

struct Counts {
    std::int64_t open = 0;  // or running
    std::int64_t done = 0;
};

void add_counts(const Document& list, std::map<std::string_view, Counts>& commands, std::int64_t by) {
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::done)
            commands[line.command].done += by;
        else if (line.kind == LineKind::open || line.kind == LineKind::running)
            commands[line.command].open += by;
    }
}

// Lines that came from an old file are in no list before a worker has written it.
bool may_stand(const History& history, std::size_t at) {
    return at < history.written || std::get<Append>(history.edits[at]).from.empty();
}

// Makes edits again as far as the list needs them.
class Remaking {
  public:
    Remaking(Document& list, const Marks& marks, const History& history, std::size_t first,
             const Document* known)
        : list_(list), marks_(marks), history_(history) {
        if (known == nullptr || first == history.edits.size()) return;
        balance_.emplace(*known, list);
        if (!is_whole()) balance_.reset();
        if (!balance_) return;
        for (std::size_t at = first; at < history.edits.size(); ++at) {
            const auto* const append = std::get_if<Append>(&history.edits[at]);
            if (append != nullptr && !may_stand(history, at)) balance_->expect(*append);
        }
    }

    // False: the list has it, or has no line for it.
    bool make(std::size_t at) {
        Edit edit = history_.edits[at];
        if (auto* const append = std::get_if<Append>(&edit)) {
            if (may_stand(history_, at)) append->text = missing(*append);
            if (append->text.empty()) return false;
        }
        if (const auto* const take = std::get_if<Take>(&edit); take != nullptr && !needs(*take)) return false;
        if (const auto* const end = std::get_if<End>(&edit); end != nullptr && !needs(*end)) return false;
        list_.apply(edit);
        return true;
    }

  private:
    // A list whose end was just written by others may be known in part.
    bool is_whole() const {
        return std::all_of(history_.edits.begin() + static_cast<std::ptrdiff_t>(history_.written),
                           history_.edits.end(), [&](const Edit& edit) {
                               const auto* const take = std::get_if<Take>(&edit);
                               return take == nullptr || balance_->knows(*take);
                           });
    }
    std::string missing(const Append& edit) {
        if (balance_) return balance_->missing(edit);
        return marks_.stands_already(edit) ? std::string() : edit.text;
    }
    bool needs(const Take& edit) { return list_.finds_line(edit) && (!balance_ || balance_->admits(edit)); }
    // A finished line that somebody removed does not come back as `#?line:`.
    bool needs(const End& edit) {
        if (!list_.finds_line(edit)) return list_.runs_another(edit);
        return !balance_ || balance_->admits(edit);
    }

    Document& list_;
    const Marks& marks_;
    const History& history_;
    std::optional<Balance> balance_;
};

}  // namespace

bool stands(const Document& list, const Edit& edit) {
    return Marks(list).stands(edit);
}

std::uint64_t waiting_again(const Document& before, const Document& after) {
    std::map<std::string_view, Counts> commands;
    add_counts(before, commands, 1);
    add_counts(after, commands, -1);
    std::uint64_t waiting = 0;
    for (const auto& [command, fewer] : commands)
        waiting += static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::min(fewer.done, -fewer.open)));
    return waiting;
}

Result<Merged> merge(std::string_view bytes, const History& history, const Document* known) {
    auto list = Document::read(bytes);
    if (!list) return list.error();
    Merged merged;
    merged.list = std::move(*list);
    const Marks marks(merged.list);
    std::size_t first = 0;  // that does not stand
    for (std::size_t at = 0; at < history.edits.size(); ++at) {
        if (marks.stands(history.edits[at])) first = at + 1;
    }
    merged.is_too_old = !history.complete && first == 0;
    Remaking remaking(merged.list, marks, history, first, known);
    for (std::size_t at = first; at < history.edits.size(); ++at)
        if (remaking.make(at)) ++merged.made_again;
    return merged;
}

}  // namespace wq::shared_list::text
