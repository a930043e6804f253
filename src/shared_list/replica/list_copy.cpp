#include "shared_list/replica/list_copy.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace wq::shared_list::replica {

namespace {

using text::Document;

std::uint64_t moved_place(const Document& from, std::uint64_t place, const Document& to) {
    if (place == 0 || place > from.lines()) return 0;
    const std::string_view searched = text::searched_text(from.line(place).text);
    return to.nearest(
        place, [&](const text::MarkedLine& line) { return text::searched_text(line.text) == searched; });
}

}  // namespace

void ListCopy::set(Document list) {
    for (auto& [worker, place] : places_) place = moved_place(list_, place, list);
    list_ = std::move(list);
}

void ListCopy::log_began() {
    current_ = known_ = false;
    applied_ = files_seen_ = 0;
}

void ListCopy::is_up_to(std::size_t records, const RecordLog& log) {
    applied_ = records;
    files_seen_ = log.files();
    current_ = known_ = true;
}

void ListCopy::apply_news(const RecordLog& log) {
    const std::uint64_t inserted = list_.lines_inserted_in_front();
    for (;;) {
        while (files_seen_ < log.files() && log.records_at(files_seen_) <= applied_) {
            ++files_seen_;
            written();
        }
        if (applied_ == log.records().size()) break;
        const text::Record& next = log.records()[applied_++];
        if (next.reread) {
            current_ = known_ = false;
            break;
        }
        for (const text::Edit& edit : next.edits) list_.apply(edit);
    }
    move_places(inserted);
}

void ListCopy::written() {
    list_.written();
    written_at_ = instant_now();
}

std::uint64_t ListCopy::place(text::WorkerId worker) const {
    const auto place = places_.find(worker);
    return place == places_.end() ? 0 : place->second;
}

void ListCopy::move_places(std::uint64_t before) {
    const std::uint64_t lines = list_.lines_inserted_in_front() - before;
    for (auto& [worker, place] : places_) place += place != 0 ? lines : 0;
}

namespace {

constexpr Duration quiet = std::chrono::seconds(2);  // as seen here
// As the master tells it: its clock may differ from that of a file server.
constexpr Duration old_enough = std::chrono::seconds(5);

}  // namespace

void LooseEnd::read(const std::string& identity, std::string_view list, std::optional<Duration> age,
                    Instant now) {
    if (list.empty() || list.ends_with('\n')) return whole_at_.reset();
    if (whole_at_ && identity == identity_) return;
    identity_ = identity;
    whole_at_ = age && *age >= old_enough ? now : now + quiet;
}

std::string_view whole_lines(std::string_view list) {
    return list.substr(0, list.rfind('\n') + 1);  // npos + 1 is 0
}

std::optional<WallMicros> changed_at(const std::string& identity) {
    const std::size_t blank = identity.rfind(' ');
    if (blank == std::string::npos || identity.find(' ') == blank) return std::nullopt;
    WallMicros seconds = 0;
    const char* const begin = identity.data() + blank + 1;
    const auto [end, error] = std::from_chars(begin, identity.data() + identity.size(), seconds);
    if (error != std::errc{} || *end != '.') return std::nullopt;
    return seconds * micros_per_second;
}

Error is_being_written(const std::string& name) {
    return {ExitCode::bad_input, name +
                                     ": somebody may be writing the last line, which has no line end; "
                                     "end it with a newline, or try again in some seconds"};
}

namespace {

using store::Answer;
using text::Edit;
using text::History;
using Lines = text::Document;

// After `known` of the log's records.
void apply_records(const RecordLog& log, std::size_t known, Lines& list) {
    for (std::size_t at = known; at < log.records().size(); ++at)
        for (const Edit& edit : log.records()[at].edits) list.apply(edit);
}

Result<Lines> list_of(store::ListStore& store, const RecordLog& log, const Answer& answer) {
    const auto known = log.records_in(answer.now.file);
    if (known && !log.is_reread_after(*known)) {
        auto list = Lines::read(*answer.file);
        if (list) apply_records(log, *known, *list);
        return list;
    }
    const auto signs = store.signs();
    if (!signs) return signs.error();
    const bool workers_live = std::ranges::any_of(*signs, &store::Sign::lives);
    const auto done = history(store, log, answer, workers_live ? LogPart::all : LogPart::unwritten);
    if (!done) return done.error();
    auto merged = text::merge(*answer.file, *done);
    if (!merged) return merged.error();
    return std::move(merged->list);
}

// What the log before has of the records before `first`. A list has all of it when the next log begins.
History left_behind(const std::string& bytes, std::uint64_t first) {
    History history;
    history.complete = false;
    RecordLog log;
    if (!log.begin(bytes) || log.next_sequence() < first) return history;  // another one came between
    for (const text::Record& record : log.records()) {
        if (record.sequence >= first) break;
        std::ranges::copy(record.edits, std::back_inserter(history.edits));
    }
    history.written = history.edits.size();
    history.complete = !log.is_cut();
    return history;
}

}  // namespace

Result<History> history(store::ListStore& store, const RecordLog& log, const Answer& answer, LogPart part) {
    History history;
    if (part == LogPart::all && log.is_cut()) {
        auto before = store.previous_log();
        if (!before) return before.error();
        history = left_behind(*before, log.records().front().sequence);
    }
    const std::size_t written = log.written(answer.left_aside);
    for (std::size_t at = part == LogPart::all ? 0 : written; at < log.records().size(); ++at) {
        std::ranges::copy(log.records()[at].edits, std::back_inserter(history.edits));
        if (at < written) history.written = history.edits.size();
    }
    return history;
}

std::vector<Edit> appends(const RecordLog& log, const std::vector<store::OldFile>& old) {
    std::vector<Edit> edits;
    for (const store::OldFile& one : old) {
        std::string lines = one.appended.substr(log.appended(one.name, one.appended));
        if (!lines.empty()) edits.push_back(text::Append{std::move(lines), one.name});
    }
    return edits;
}

Result<Lines> view(store::ListStore& store) {
    if (auto opened = store.open_to_read(); !opened) return opened.error();
    const auto answer = store.read();
    if (!answer) return answer.error();
    RecordLog log;
    if (auto begun = log.begin(answer->log); !begun) return begun.error();
    auto list = list_of(store, log, *answer);
    if (!list) return Error{list.error().code, store.name() + ": " + list.error().message};
    for (const Edit& edit : appends(log, answer->old)) list->apply(edit);
    return list;
}

}  // namespace wq::shared_list::replica
