#include "shared_list/text/balance.h"

#include "base/next_line.h"

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
        for (const Try& attempt : line.tries)
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

}  // namespace wq::shared_list::text
