#include "shared_list/replica/list_copy.h"

#include <string_view>
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

}  // namespace wq::shared_list::replica
