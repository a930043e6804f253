#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/units.h"
#include "engine/tasklist/progression.h"
#include "engine/tasklist/sources.h"

namespace wq::engine::tasklist {

namespace {

constexpr std::uint64_t most_index = std::uint64_t{1} << 62;

Error bad_range(std::string message) {
    return Error{ExitCode::usage, std::move(message)};
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value > most_index) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

bool take_sign(std::string_view& text, char sign) {
    if (!text.starts_with(sign)) return false;
    text.remove_prefix(1);
    return true;
}

// "7", "10-20", "1-100:5". `last` becomes an index of the range.
std::optional<IndexRange> parse_range(std::string_view text) {
    const auto first = take_number(text);
    if (!first) return std::nullopt;
    IndexRange range{*first, *first, 1};
    if (take_sign(text, '-')) {
        const auto last = take_number(text);
        if (!last) return std::nullopt;
        range.last = *last;
        if (take_sign(text, ':')) {
            const auto step = take_number(text);
            if (!step) return std::nullopt;
            range.step = *step;
        }
    }
    if (!text.empty()) return std::nullopt;
    return range;
}

std::optional<Error> refuse(const IndexRange& range, std::string_view text) {
    if (range.first > range.last) {
        return bad_range("--array: in " + quote_for_message(text) +
                         " the first index is above the last; write the lower first");
    }
    if (range.step == 0)
        return bad_range("--array: the step of " + quote_for_message(text) + " is 0; use at least 1");
    return std::nullopt;
}

// An index in two of the ranges. Compares only ranges whose spans overlap.
std::optional<std::uint64_t> duplicate_in(const std::vector<IndexRange>& ranges) {
    std::vector<IndexRange> sorted = ranges;
    std::ranges::sort(sorted, {}, &IndexRange::first);
    std::vector<IndexRange> open;
    for (const IndexRange& range : sorted) {
        std::erase_if(open, [&](const IndexRange& other) { return other.last < range.first; });
        for (const IndexRange& other : open) {
            if (const auto index = first_common(other, range)) return index;
        }
        open.push_back(range);
    }
    return std::nullopt;
}

}  // namespace

Result<IndexSet> IndexSet::parse(std::string_view text) {
    IndexSet set;
    for (bool more = true; more;) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        more = comma != std::string_view::npos;
        if (more) text.remove_prefix(comma + 1);
        auto range = parse_range(part);
        if (!range) {
            return bad_range(
                "--array: " + quote_for_message(part) +
                " is not a range of indexes up to 2^62; write 7, 10-20 or 1-100:5, separated by commas" +
                (part.find('%') == std::string_view::npos ? "" : " (and no %LIMIT)"));
        }
        if (auto error = refuse(*range, part)) return *error;
        range->last = range->first + (range->count() - 1) * range->step;
        if (range->first == range->last) range->step = 1;
        if (range->count() > most_index - set.count_) {
            return bad_range("--array: more than 2^62 indexes in all; use fewer");
        }
        set.starts_.push_back(set.count_);
        set.count_ += range->count();
        set.ranges_.push_back(*range);
    }
    if (const auto index = duplicate_in(set.ranges_)) {
        return bad_range("--array: index " + std::to_string(*index) +
                         " is given twice; remove it from one range");
    }
    return set;
}

std::uint64_t IndexSet::at(std::uint64_t n) const {
    const auto after = std::ranges::upper_bound(starts_, n);
    const auto place = static_cast<std::size_t>(after - starts_.begin()) - 1;
    return ranges_[place].first + (n - starts_[place]) * ranges_[place].step;
}

std::string IndexSet::text() const {
    std::string text;
    for (const IndexRange& range : ranges_) {
        if (!text.empty()) text += ",";
        text += std::to_string(range.first);
        if (range.last != range.first) text += "-" + std::to_string(range.last);
        if (range.step != 1 && range.last != range.first) text += ":" + std::to_string(range.step);
    }
    return text;
}

}  // namespace wq::engine::tasklist
