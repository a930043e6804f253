#include "shared_list/text/marked_line.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

#include "engine/tasklist/shell_scan.h"

namespace wq::shared_list::text {

namespace {

constexpr std::string_view stamp_form = "00-00 00:00:00";  // 0: a digit
constexpr std::string_view beginning = "# worker ";

bool is_stamp(std::string_view text) {
    if (text.size() != stamp_form.size()) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool digit = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
        if (stamp_form[at] == '0' ? !digit : text[at] != stamp_form[at]) return false;
    }
    return true;
}

std::string_view take_stamp(std::string_view& rest) {
    const std::string_view stamp = rest.substr(0, stamp_form.size());
    if (!is_stamp(stamp)) return {};
    rest.remove_prefix(stamp.size());
    return stamp;
}

// "ok", "error3", "lost"
bool take_end(std::string_view& rest, LineTry& attempt) {
    if (take_text(rest, "ok")) {
        attempt.end = TryEnd::ok;
    } else if (take_text(rest, "lost")) {
        attempt.end = TryEnd::lost;
    } else if (take_text(rest, "error")) {
        attempt.end = TryEnd::error;
        attempt.exit_code = take_number<int>(rest).value_or(0);
    } else {
        return false;
    }
    return true;
}

// "# worker 3 # (07-28 15:52:33 ..."
std::optional<LineTry> take_begin(std::string_view& rest) {
    std::string_view text = rest;
    if (!take_text(text, beginning)) return std::nullopt;
    const auto worker = take_number<WorkerId>(text);
    if (!worker || !take_text(text, " # (")) return std::nullopt;
    const std::string_view stamp = take_stamp(text);
    if (stamp.empty() || !take_text(text, " ...")) return std::nullopt;
    rest = text;
    LineTry attempt;
    attempt.worker = *worker;
    attempt.begun = stamp;
    return attempt;
}

// Looks for "07-28 15:52:36) #ok" in `text`, the rest of a line up to its next try.
void find_end(std::string_view text, LineTry& attempt) {
    for (std::size_t close = text.find(") #"); close != std::string_view::npos;
         close = text.find(") #", close + 1)) {
        if (close < stamp_form.size() || !is_stamp(text.substr(close - stamp_form.size(), stamp_form.size())))
            continue;
        std::string_view rest = text.substr(close + 3);
        if (!take_end(rest, attempt)) continue;
        attempt.ended = trim(text.substr(0, close));
        return;
    }
}

}  // namespace

Trail split_trail(std::string_view line) {
    Trail trail;
    trail.before = line;
    std::size_t at = line.find(beginning);
    while (at != std::string_view::npos) {
        std::string_view rest = line.substr(at);
        auto attempt = take_begin(rest);
        const std::size_t next = line.find(beginning, at + 1);
        if (attempt) {
            if (trail.tries.empty()) trail.before = trim_right(line.substr(0, at));
            const std::size_t begin = line.size() - rest.size();
            find_end(line.substr(begin, next == std::string_view::npos ? next : next - begin), *attempt);
            trail.tries.push_back(std::move(*attempt));
        }
        at = next;
    }
    return trail;
}

namespace {

// The groups of a line; a list that somebody generated may have a hundred thousand on one.
class Groups {
  public:
    explicit Groups(std::vector<engine::tasklist::GroupMembership>& groups) : groups_(groups) {}
    enum class Runs : std::uint8_t { one_by_one, in_parallel };
    void add(std::string_view name, Runs runs) {
        const bool sequential = runs == Runs::one_by_one;
        const auto [known, is_new] = at_.try_emplace(name, groups_.size());
        if (is_new)
            groups_.push_back({std::string(name), sequential});
        else
            groups_[known->second].sequential |= sequential;  // waits for everything that parallel waits for
    }

  private:
    std::vector<engine::tasklist::GroupMembership>& groups_;
    std::map<std::string_view, std::size_t> at_;
};

// `tag` stands between two `#`.
void read_tag(std::string_view tag, MarkedLine& line, Groups& groups) {
    if (tag.empty()) return;
    std::string_view value = trim_right(tag.substr(1));
    switch (tag.front()) {
        case '!':
            line.kind = LineKind::environment;
            break;
        case '@': {
            const auto id = take_number<WorkerId>(value);
            line.workers.push_back(id && value.empty() ? *id : no_worker);
            break;
        }
        case ':':
            groups.add(value, Groups::Runs::one_by_one);
            break;
        case '+':
            if (!value.empty()) groups.add(value, Groups::Runs::in_parallel);
            break;
        default:
            break;
    }
}

void read_tags(MarkedLine& line) {
    if (line.command.find('#') == std::string::npos) return;
    const std::size_t comment = engine::tasklist::scan_shell(line.command).remark;
    if (comment == std::string_view::npos) return;
    std::string_view rest = std::string_view(line.command).substr(comment);
    Groups groups(line.groups);
    while (!rest.empty()) {
        const std::size_t next = std::min(rest.find('#', 1), rest.size());
        read_tag(rest.substr(1, next - 1), line, groups);
        rest.remove_prefix(next);
    }
}

// A line that begins with `#`.
void read_hash_line(std::string_view text, MarkedLine& line) {
    if (text == "#:") {
        line.kind = LineKind::barrier;
        line.groups.push_back({"", true});
        return;
    }
    Trail trail = split_trail(text);
    if (trail.tries.empty() || is_run_mark(text)) return;
    const TryEnd last = trail.tries.back().end;
    // A failed line that somebody made a comment is given up.
    if (last != TryEnd::running && last != TryEnd::ok) return;
    // Nobody begins an empty line or a comment.
    const std::string_view command = trim(trail.before.substr(1));
    if (command.empty() || command.starts_with('#')) return;
    line.command = command;
    line.tries = std::move(trail.tries);
    read_tags(line);
    line.kind = last == TryEnd::ok ? LineKind::done : LineKind::running;
}

void read_command(std::string_view text, MarkedLine& line) {
    Trail trail = split_trail(text);
    line.command = trail.before;
    line.tries = std::move(trail.tries);
    line.kind = LineKind::open;
    read_tags(line);
}

bool is_orphan(std::string_view text) {
    return take_text(text, "#?line:") && take_number<std::uint64_t>(text) && text.starts_with('#');
}

std::string end_of(const EndMark& mark) {
    std::string text = " ";
    if (mark.moved != 0)
        text += "line" + std::string(mark.moved > 0 ? "+" : "") + std::to_string(mark.moved) + " ";
    text += mark.stamp + ") #";
    if (mark.end == TryEnd::error) return text + "error" + std::to_string(mark.exit_code);
    return text + (mark.end == TryEnd::ok ? "ok" : "lost");
}

std::string beginning_of(WorkerId worker, std::string_view stamp) {
    return " # worker " + std::to_string(worker) + " # (" + std::string(stamp) + " ...";
}

}  // namespace

MarkedLine parse_line(std::string_view text) {
    MarkedLine line;
    if (text.ends_with('\r')) {
        line.carriage_return = true;
        text.remove_suffix(1);
    }
    line.text = text;
    const std::string_view stripped = trim(text);
    if (stripped.starts_with('#'))
        read_hash_line(stripped, line);
    else if (!stripped.empty())
        read_command(stripped, line);
    return line;
}

std::string_view searched_text(std::string_view line) {
    line = trim(line);
    if (line.starts_with('#')) line.remove_prefix(1);
    return trim_right(line.substr(0, line.find('#')));
}

std::string begun(const MarkedLine& line, WorkerId worker, std::string_view stamp) {
    const std::string_view text = trim(line.text);
    return (text.starts_with('#') ? "" : "#") + std::string(text) + beginning_of(worker, stamp);
}

std::string ended(const MarkedLine& line, const EndMark& mark) {
    std::string_view text = trim(line.text);
    if (mark.end != TryEnd::ok) take_text(text, "#");
    return std::string(text) + end_of(mark);
}

std::string orphaned(std::uint64_t number, std::string_view command, WorkerId worker, std::string_view begun,
                     const EndMark& mark) {
    return "#?line:" + std::to_string(number) + "# " + std::string(command) + beginning_of(worker, begun) +
           end_of(mark);
}

std::string unmarked(const MarkedLine& line) {
    return line.tries.empty() ? line.text : line.command;
}

bool is_run_mark(std::string_view text) {
    return last_worker(text) || worker_of(text) || is_orphan(text);
}

std::optional<std::int64_t> last_worker(std::string_view text) {
    if (!take_text(text, "#LASTWORKER ")) return std::nullopt;
    text = trim(text);
    const auto worker = take_number<std::int64_t>(text);
    if (!worker || !text.empty() || *worker < -1 || *worker >= no_worker) return std::nullopt;
    return worker;
}

std::string last_worker_line(std::int64_t worker) {
    return "#LASTWORKER " + std::to_string(worker);
}

std::string worker_line(WorkerId worker, std::string_view name, std::string_view stamp) {
    // A name with a line end would become a task.
    std::string printable(name);
    for (char& byte : printable)
        if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F) byte = '?';
    return "# worker " + std::to_string(worker) + ": " + printable + " (" + std::string(stamp) + ")";
}

std::optional<WorkerMark> worker_of(std::string_view text) {
    text = trim_right(text);
    if (!take_text(text, "# worker ")) return std::nullopt;
    const auto worker = take_number<WorkerId>(text);
    if (!worker || !take_text(text, ": ") || !text.ends_with(')')) return std::nullopt;
    const std::size_t open = text.rfind('(');
    if (open == std::string_view::npos) return std::nullopt;
    return WorkerMark{*worker, std::string(trim_right(text.substr(0, open))),
                      std::string(text.substr(open + 1, text.size() - open - 2))};
}

}  // namespace wq::shared_list::text
