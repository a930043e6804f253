#include "shared_list/text/document.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace wq::shared_list::text {

namespace {

bool is_live(const MarkedLine& line) {
    return line.kind != LineKind::text && line.kind != LineKind::done;
}

bool runs_as(const MarkedLine& line, WorkerId worker, std::string_view begun) {
    return line.kind == LineKind::running && line.tries.back().worker == worker &&
           line.tries.back().begun == begun;
}

bool was_lost(const MarkedLine& line, WorkerId worker, std::string_view begun) {
    return std::ranges::any_of(line.tries, [&](const LineTry& one) {
        return one.worker == worker && one.begun == begun && one.end == TryEnd::lost;
    });
}

// Numbers of lines, after as many lines were put in front of them.
void shift(std::set<std::uint64_t>& numbers, std::int64_t by) {
    const std::set<std::uint64_t> before = std::exchange(numbers, {});
    for (const std::uint64_t number : before)
        numbers.insert(numbers.end(), number + static_cast<std::uint64_t>(by));
}

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
    return static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
}

}  // namespace

Status Document::check(std::string_view bytes) {
    const std::size_t at = bytes.find('\0');
    if (at == std::string_view::npos) return success();
    const auto number = std::ranges::count(bytes.substr(0, at), '\n') + 1;
    return Error{ExitCode::bad_input,
                 "line " + std::to_string(number) + ": a NUL byte; a task list is plain text"};
}

Result<Document> Document::read(std::string_view bytes) {
    if (auto checked = check(bytes); !checked) return checked.error();
    Document document;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view text = bytes.substr(0, end);
        const std::uint64_t number = document.lines_.size() + 1;
        Kept kept;
        kept.line = parse_line(text);
        kept.has_end = end != std::string_view::npos;
        document.bytes_in_file_.push_back(text.size() + (kept.has_end ? 1 : 0));
        bytes.remove_prefix(document.bytes_in_file_.back());
        document.lines_.push_back(std::move(kept));
        document.index(number);
    }
    return document;
}

std::string Document::bytes() const {
    std::string all;
    for (const Kept& kept : lines_) append_bytes(all, kept);
    return all;
}

void Document::append_bytes(std::string& to, const Kept& kept) {
    to += kept.line.text;
    if (kept.line.carriage_return) to += '\r';
    if (kept.has_end) to += '\n';
}

void Document::index(std::uint64_t number) {
    const MarkedLine& line = this->line(number);
    if (is_live(line))
        live_.insert(number);
    else
        live_.erase(number);
    if (last_worker_at_ != 0 || line.kind != LineKind::text) return;
    if (const auto worker = text::last_worker(line.text)) {
        last_worker_at_ = number;
        last_worker_ = *worker;
    }
}

void Document::apply(const Edit& edit) {
    std::visit([this](const auto& one) { make(one); }, edit);
}

void Document::replace(std::uint64_t number, const std::string& text) {
    remember(number);
    Kept& kept = lines_[number - 1];
    const bool carriage_return = kept.line.carriage_return;
    kept.line = parse_line(text);
    kept.line.carriage_return = carriage_return;
    changed_.insert(number);
    index(number);
}

void Document::append_line(std::string_view text) {
    if (!lines_.empty() && !lines_.back().has_end) {
        remember(lines_.size());
        lines_.back().has_end = true;
        changed_.insert(lines_.size());
    }
    lines_.push_back({parse_line(text)});
    bytes_in_file_.push_back(0);
    changed_.insert(lines_.size());
    index(lines_.size());
}

void Document::insert_front(std::string_view text) {
    lines_.insert(lines_.begin(), Kept{parse_line(text)});
    bytes_in_file_.insert(bytes_in_file_.begin(), 0);
    ++inserted_;
    if (last_worker_at_ != 0) ++last_worker_at_;
    shift(live_, 1);
    shift(changed_, 1);
    changed_.insert(1);
    index(1);
}

void Document::make(const Join& edit) {
    const std::int64_t last = std::max<std::int64_t>(last_worker_, edit.worker);
    if (last_worker_at_ == 0)
        insert_front(last_worker_line(last));
    else if (last != last_worker_)
        replace(last_worker_at_, last_worker_line(last));
    last_worker_ = last;
    append_line(worker_line(edit.worker, edit.name, edit.stamp));
}

std::uint64_t Document::open_line(const Take& edit) const {
    return nearest(edit.number, [&](const MarkedLine& line) {
        return line.kind == LineKind::open && searched_text(line.text) == edit.searched;
    });
}

void Document::make(const Take& edit) {
    const std::uint64_t at = open_line(edit);
    if (at != 0) replace(at, begun(line(at), edit.worker, edit.stamp));
}

bool Document::end_at(std::uint64_t number, const End& edit) {
    if (number == 0) return false;
    replace(number,
            ended(line(number), {edit.stamp, edit.end, edit.exit_code, distance(edit.number, number)}));
    return true;
}

// Its tags may have been edited; but a worker may run two lines that differ in nothing else.
std::uint64_t Document::running_line(const End& edit) const {
    const std::uint64_t whole = nearest(edit.number, [&](const MarkedLine& line) {
        return runs_as(line, edit.worker, edit.begun) && line.command == edit.command;
    });
    if (whole != 0) return whole;
    const std::string_view searched = searched_text(edit.command);
    return nearest(edit.number, [&](const MarkedLine& line) {
        return runs_as(line, edit.worker, edit.begun) && searched_text(line.text) == searched;
    });
}

// The worker was thought lost, and then it told its end after all.
std::uint64_t Document::given_up_line(const End& edit) const {
    return nearest(edit.number, [&](const MarkedLine& line) {
        return line.command == edit.command && was_lost(line, edit.worker, edit.begun);
    });
}

// Somebody's editor has written the list as it was before the line was begun.
std::uint64_t Document::open_line(const End& edit) const {
    return nearest(edit.number, [&](const MarkedLine& line) {
        return line.kind == LineKind::open && line.command == edit.command;
    });
}

bool Document::runs_another(const End& edit) const {
    return edit.number >= 1 && edit.number <= lines() && runs_as(line(edit.number), edit.worker, edit.begun);
}

bool Document::finds_line(const End& edit) const {
    return running_line(edit) != 0 || given_up_line(edit) != 0 || open_line(edit) != 0;
}

void Document::make(const End& edit) {
    if (end_at(running_line(edit), edit)) return;
    const std::uint64_t given_up = given_up_line(edit);
    if (given_up != 0 && line(given_up).kind != LineKind::open) return;  // others run it, or have run it
    const std::uint64_t open = given_up != 0 ? given_up : open_line(edit);
    if (open != 0) {
        replace(open, begun(line(open), edit.worker, edit.begun));
        end_at(open, edit);
        return;
    }
    append_line(orphaned(edit.number, edit.command, edit.worker, edit.begun,
                         {edit.stamp, edit.end, edit.exit_code, 0}));
    // The new command waits.
    if (runs_another(edit)) replace(edit.number, ended(line(edit.number), {edit.stamp, TryEnd::lost, 0, 0}));
}

void Document::make(const Append& edit) {
    std::string_view rest = edit.text;
    while (!rest.empty()) append_line(next_line(rest));
}

std::vector<Splice> Document::splices() const {
    std::vector<Splice> all;
    const auto in_file = bytes_in_file_.begin();
    std::uint64_t offset = 0;
    std::uint64_t above = 0;  // lines that `offset` counts
    for (const std::uint64_t number : changed_) {
        const auto line = static_cast<std::ptrdiff_t>(number) - 1;
        offset = std::accumulate(in_file + static_cast<std::ptrdiff_t>(above), in_file + line, offset);
        if (all.empty() || above + 1 != number) all.push_back({offset, 0, {}});
        append_bytes(all.back().text, lines_[number - 1]);
        all.back().length += in_file[line];
        offset += in_file[line];
        above = number;
    }
    return all;
}

void Document::written() {
    for (const std::uint64_t number : std::exchange(changed_, {})) {
        const Kept& kept = lines_[number - 1];
        bytes_in_file_[number - 1] =
            kept.line.text.size() + (kept.line.carriage_return ? 1 : 0) + (kept.has_end ? 1 : 0);
    }
}

std::uint64_t Document::bytes_in_file() const {
    return std::accumulate(bytes_in_file_.begin(), bytes_in_file_.end(), std::uint64_t{0});
}

void Document::begin_change() {
    before_ = Before{{}, lines(), inserted_, last_worker_, last_worker_at_};
}

void Document::remember(std::uint64_t number) {
    if (before_)
        before_->replaced.push_back(
            {number - (inserted_ - before_->inserted), lines_[number - 1], changed_.contains(number)});
}

void Document::remove_front() {
    live_.erase(1);
    changed_.erase(1);
    lines_.erase(lines_.begin());
    bytes_in_file_.erase(bytes_in_file_.begin());
    shift(live_, -1);
    shift(changed_, -1);
}

void Document::undo_change() {
    const auto before = std::exchange(before_, std::nullopt);
    if (!before) return;
    for (; inserted_ > before->inserted; --inserted_) remove_front();
    while (lines() > before->lines) {
        live_.erase(lines());
        changed_.erase(lines());
        lines_.pop_back();
        bytes_in_file_.pop_back();
    }
    last_worker_ = before->last_worker;
    last_worker_at_ = before->last_worker_at;
    for (auto step = before->replaced.rbegin(); step != before->replaced.rend(); ++step) {
        if (step->number == 0 || step->number > lines()) continue;  // it was put there by the change
        lines_[step->number - 1] = step->kept;
        if (!step->changed) changed_.erase(step->number);
        index(step->number);
    }
}

std::vector<Edit> release(const Document& list, WorkerId worker, const std::string& stamp) {
    std::vector<Edit> edits;
    for (const std::uint64_t number : list.live_lines()) {
        const MarkedLine& line = list.line(number);
        if (line.kind != LineKind::running || line.tries.back().worker != worker) continue;
        edits.push_back(End{number, worker, line.tries.back().begun, stamp, TryEnd::lost, 0, line.command});
    }
    return edits;
}

std::string Document::audit() const {
    Document fresh;
    if (auto read = Document::read(bytes()))
        fresh = std::move(*read);
    else
        return read.error().message;
    if (fresh.lines() != lines() || bytes_in_file_.size() != lines()) return "another number of lines";
    if (fresh.live_ != live_) return "other live lines";
    if (fresh.last_worker_ != last_worker_) return "another last worker";
    for (std::uint64_t number = 1; number <= lines(); ++number) {
        if (line(number).kind != fresh.line(number).kind || line(number).tries != fresh.line(number).tries)
            return "line " + std::to_string(number) + " is read back as another";
    }
    return {};
}

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
