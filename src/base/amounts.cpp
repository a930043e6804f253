#include "base/amounts.h"

#include "base/units.h"

namespace wq {

namespace {

constexpr std::size_t digits_behind_point = 3;

bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<Count> parse_count_with_fraction(std::string_view text, Count low, Count high) {
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::string_view whole = text.substr(0, point);
    std::string behind(text.substr(std::min(point + 1, text.size())));
    const bool has_digits = !whole.empty() || !behind.empty();
    const bool sound = has_digits && all_digits(whole) && all_digits(behind) &&
                       behind.size() <= digits_behind_point && !(point < text.size() && behind.empty());
    behind.resize(digits_behind_point, '0');
    const auto count = sound ? parse_count(std::string(whole.empty() ? "0" : whole), 0, Count::most)
                             : Result<std::int64_t>(Error{});
    const auto parts = parse_count(sound ? behind : "0", 0, 999);
    if (count && parts) {
        const Count value = Count(*count) + Count::of_thousandths(*parts);
        if (value >= low && value <= high) return value;
    }
    return Error{ExitCode::usage, quote_for_message(text) + " is not a number from " +
                                      format_count_with_fraction(low) + " to " +
                                      format_count_with_fraction(high) + " (with at most three decimals)"};
}

std::string format_count_with_fraction(Count count) {
    const std::int64_t thousandths = count.thousandths() < 0 ? -count.thousandths() : count.thousandths();
    std::string text = (count < 0 ? "-" : "") + std::to_string(thousandths / 1000);
    if (count.is_whole()) return text;
    const std::string behind = std::to_string(1000 + thousandths % 1000).substr(1);
    return text + "." + behind.substr(0, behind.find_last_not_of('0') + 1);
}

Result<std::int64_t> parse_amount_mb(std::string_view text) {
    const auto bytes = parse_size(text);
    if (!bytes) return bytes;
    const std::int64_t size = *bytes / bytes_per_mb + (*bytes % bytes_per_mb != 0 ? 1 : 0);
    if (size > most_mb) return Error{ExitCode::usage, quote_for_message(text) + " is more than 1 EiB"};
    return size;
}

}  // namespace wq
