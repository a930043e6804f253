#include "shared_list/replica/list_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace wq::shared_list::replica {

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
    const auto done = history(store, log, answer, std::ranges::any_of(*signs, &store::Sign::lives));
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

Result<History> history(store::ListStore& store, const RecordLog& log, const Answer& answer,
                        bool workers_live) {
    History history;
    if (workers_live && log.is_cut()) {
        auto before = store.previous_log();
        if (!before) return before.error();
        history = left_behind(*before, log.records().front().sequence);
    }
    const std::size_t written = log.written(answer.left_aside);
    for (std::size_t at = workers_live ? 0 : written; at < log.records().size(); ++at) {
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
