#include "net/catalog_server/history_replay.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "net/catalog/record.h"
#include "net/frames/http_request.h"

namespace wq::net::catalog_server {

namespace {

using catalog::FlatRecord;

constexpr std::size_t most_line_bytes = catalog::most_record_bytes + (64 << 10);
constexpr std::size_t block_bytes = 256 << 10;
constexpr std::size_t piece_of_stream = 64 << 10;
constexpr std::size_t lines_a_piece = 20'000;
constexpr std::size_t bytes_beside_record = 200;

bool is_word_byte(unsigned char byte) {
    return byte > ' ' && byte != 0x7f && byte != '%' && byte != '"' && byte != '\\';
}

// Its first word is removed from `text`.
std::string_view first_word(std::string_view& text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
    const auto number = number_in<std::int64_t>(text);
    return number.value_or(-1) >= 0 ? number : std::nullopt;
}

// Time that a line sets.
std::optional<std::int64_t> time_after(const HistoryLine& line, std::int64_t before) {
    const auto number = seconds_of(line.rest);
    std::int64_t time = 0;
    if (!number || __builtin_add_overflow(line.kind == 't' ? before : 0, *number, &time)) return std::nullopt;
    return time;
}

bool is_object(std::string_view text) {
    return text.starts_with('{') && text.ends_with('}');
}

}  // namespace

std::string word_of_key(std::string_view key) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string word;
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_word_byte(byte))
            word += c;
        else
            word += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return word;
}

bool HistoryLines::fill() {
    bytes_.erase(0, at_);
    at_ = 0;
    const std::size_t size = bytes_.size();
    bytes_.resize(size + block_bytes);
    const ssize_t count = file_.valid() ? ::read(file_.get(), bytes_.data() + size, block_bytes) : 0;
    bytes_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0;
}

bool HistoryLines::next(std::string_view& line) {
    std::size_t looked_at = at_;
    bool too_long = false;
    for (;;) {
        const std::size_t end = bytes_.find('\n', looked_at);
        if (end != std::string::npos) {
            line = too_long ? std::string_view() : std::string_view(bytes_).substr(at_, end - at_);
            at_ = end + 1;
            return true;
        }
        if (bytes_.size() - at_ > most_line_bytes) {
            too_long = true;
            at_ = bytes_.size();
        }
        const std::size_t kept = bytes_.size() - at_;
        if (!fill()) {  // the last line has no end: perhaps it is still being written
            at_ = bytes_.size();
            return false;
        }
        looked_at = kept;
    }
}

HistoryLine parse_history_line(std::string_view line) {
    if (line.empty()) return {};
    HistoryLine parsed{line[0], {}, line.substr(std::min<std::size_t>(2, line.size()))};
    if (line.size() < 3 || line[1] != ' ') return {'?', {}, {}};
    if (parsed.kind == 'T' || parsed.kind == 't') return parsed;
    if (std::string_view("CMURD").find(parsed.kind) == std::string_view::npos) return {'?', {}, {}};
    parsed.key = first_word(parsed.rest);
    const bool complete = parsed.kind == 'D' ? parsed.rest.empty() : !parsed.rest.empty();
    return complete && !parsed.key.empty() ? parsed : HistoryLine{'?', {}, {}};
}

void HistoryState::store_record(const std::string& key, FlatRecord record) {
    const auto old = records_.find(key);
    if (old != records_.end()) left_ += old->second.bytes();
    const std::size_t needs = record.bytes() + (old == records_.end() ? key.size() + bytes_beside_record : 0);
    if (needs > left_) return remove(key);
    left_ -= needs;
    records_[key] = std::move(record);
}

void HistoryState::remove(const std::string& key) {
    const auto old = records_.find(key);
    if (old == records_.end()) return;
    left_ += old->second.bytes() + key.size() + bytes_beside_record;
    records_.erase(old);
}

bool HistoryState::change(const HistoryLine& line) {
    const std::string key = frames::percent_decoded(line.key);
    const auto known = records_.find(key);
    if (line.kind == 'D') {
        remove(key);
        return true;
    }
    if (line.kind == 'C' || line.kind == 'M') {
        auto update = is_object(line.rest) ? catalog::read_update(line.rest) : Result<FlatRecord>(Error{});
        if (!update) return false;
        if (line.kind == 'C' || known == records_.end()) {
            store_record(key, std::move(*update));
            return true;
        }
        std::vector<FlatRecord::Given> given;
        for (std::size_t at = 0; at < update->size(); ++at)
            given.push_back({update->name_at(at), std::string(update->value_at(at))});
        store_record(key, known->second.with(given));
        return true;
    }
    if (known == records_.end()) return false;
    std::string_view rest = line.rest;
    const std::string_view name = first_word(rest);
    if (name.find_first_of("\"\\") != std::string_view::npos) return false;
    if (line.kind == 'R') {
        store_record(key, known->second.with({{name, ""}}));
        return true;
    }
    const auto value = catalog::read_update("{\"v\":" + std::string(rest) + "}");
    if (!value || value->size() != 1) return false;
    store_record(key, known->second.with({{name, std::string(value->value_at(0))}}));
    return true;
}

void HistoryState::take_log_line(std::string_view text) {
    const HistoryLine line = parse_history_line(text);
    if (line.kind == 0) return;
    if (line.kind == 'T' || line.kind == 't') {
        const auto time = time_after(line, time_);
        if (time)
            time_ = *time;
        else
            ++damaged_;
    } else if (line.kind == '?' || !change(line)) {
        ++damaged_;
    }
}

// "KEY":, and in the next line its record, which ends with ',' or, the last, perhaps with a '}' too many.
void HistoryState::take_checkpoint_line(std::string_view line) {
    if (line.starts_with('"') && line.ends_with("\":")) {
        checkpoint_key_ = frames::percent_decoded(line.substr(1, line.size() - 3));
        return;
    }
    if (line.empty() || line == "{" || line == "}") return;
    if (line.ends_with(',')) line.remove_suffix(1);
    auto record = catalog::read_update(line);
    if (!record && line.ends_with("}}")) record = catalog::read_update(line.substr(0, line.size() - 1));
    if (checkpoint_key_.empty() || !is_object(line) || !record) {
        ++damaged_;
    } else {
        FlatRecord flat(std::move(*record));
        if (flat.integer_of("lastheardfrom") <= until_) store_record(checkpoint_key_, std::move(flat));
    }
    checkpoint_key_.clear();
}

namespace {

// From the last one with a checkpoint up to the day of `time`.
std::vector<Day> days_for(const HistoryFiles& files, std::int64_t time) {
    std::vector<Day> days = files.days();
    std::erase_if(days, [last = day_of(time)](Day day) { return day > last; });
    for (std::size_t at = days.size(); at-- > 0;) {
        if (!files.has(days[at], "ckpt")) continue;
        days.erase(days.begin(), days.begin() + static_cast<std::ptrdiff_t>(at));
        break;
    }
    return days;
}

}  // namespace

HistoryState history_at(const HistoryFiles& files, std::int64_t time, std::size_t most_bytes) {
    HistoryState state(most_bytes, time);
    std::string_view line;
    for (const Day day : days_for(files, time)) {
        HistoryLines checkpoint(files.read(day, "ckpt"));
        while (checkpoint.next(line)) state.take_checkpoint_line(line);
        HistoryLines log(files.read(day, "log"));
        while (log.next(line)) {
            const HistoryLine parsed = parse_history_line(line);
            if (parsed.kind == 'T' || parsed.kind == 't')
                if (const auto after = time_after(parsed, state.time()); after && *after > time) break;
            state.take_log_line(line);
        }
    }
    return state;
}

HistoryStream::HistoryStream(const HistoryFiles& files, std::int64_t begin, std::int64_t end,
                             std::optional<catalog::JxExpression> where, std::size_t most_bytes)
    : files_(files), begin_(begin), end_(end), where_(std::move(where)), most_bytes_(most_bytes) {}

void HistoryStream::begin(std::string& out) {
    begun_ = true;
    state_.emplace(history_at(files_, begin_, most_bytes_));
    at_ = state_->records().begin();
    out += "T " + std::to_string(begin_) + "\n";
    written_time_ = begin_;
    days_ = files_.days();
    std::erase_if(days_, [&](Day day) { return day < day_of(begin_) || day > day_of(end_); });
    std::ranges::reverse(days_);
}

void HistoryStream::write_first(std::string& out) {
    for (; at_ != state_->records().end() && out.size() < piece_of_stream; ++at_) {
        const auto& [key, record] = *at_;
        if (!wanted(record)) continue;
        const std::string word = word_of_key(key);
        out += "C " + word + " " + record.text() + "\n";
        keys_.insert(word);
    }
    if (at_ == state_->records().end()) state_.reset();
}

bool HistoryStream::open_next() {
    if (days_.empty()) return false;
    reader_.emplace(files_.read(days_.back(), "log"));
    days_.pop_back();
    return true;
}

bool HistoryStream::take(std::string_view text, std::string& out) {
    const HistoryLine line = parse_history_line(text);
    if (line.kind == 'T' || line.kind == 't') {
        time_ = time_after(line, time_).value_or(time_);
        return time_ <= end_;
    }
    if (line.kind == 0 || line.kind == '?' || time_ <= begin_) return true;
    const std::string word(line.key);
    if (line.kind == 'C') {
        const auto record =
            is_object(line.rest) ? catalog::read_update(line.rest) : Result<FlatRecord>(Error{});
        if (!record || !wanted(*record)) return true;
        keys_.insert(word);
    } else if (line.kind == 'D' ? keys_.erase(word) == 0 : !keys_.contains(word)) {
        return true;
    }
    if (time_ != written_time_) out += "T " + std::to_string(time_) + "\n";
    written_time_ = time_;
    out.append(text).push_back('\n');
    return true;
}

bool HistoryStream::next(std::string& out) {
    if (!begun_) begin(out);
    if (state_) {
        write_first(out);
        return true;
    }
    std::string_view line;
    for (std::size_t lines = 0; lines < lines_a_piece && out.size() < piece_of_stream; ++lines) {
        while (!reader_ || !reader_->next(line))
            if (!open_next()) return false;
        if (!take(line, out)) return false;
    }
    return true;
}

}  // namespace wq::net::catalog_server
