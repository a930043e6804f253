#include "base/units.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>

namespace wq {

namespace {

constexpr std::int64_t nanos_per_second = 1'000'000'000;
constexpr std::int64_t most_seconds = std::int64_t{36525} * 86400;  // 100 years
constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A non-negative decimal number, exact: no binary fraction is used between "0.1s" and its nanoseconds.
struct Decimal {
    std::int64_t whole = 0;
    std::int64_t billionths = 0;
    bool fraction = false;
};

std::optional<std::int64_t> take_digits(std::string_view& text) {
    std::size_t size = 0;
    while (size < text.size() && is_digit(text[size])) ++size;
    if (size == 0) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + size, value);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(size);
    return value;
}

std::optional<Decimal> take_decimal(std::string_view& text) {
    const auto whole = take_digits(text);
    if (!whole) return std::nullopt;
    Decimal value{*whole, 0, false};
    if (!text.starts_with('.')) return value;
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) return std::nullopt;
    value.fraction = true;
    for (std::int64_t place = nanos_per_second / 10; !text.empty() && is_digit(text.front()); place /= 10) {
        value.billionths += place * (text.front() - '0');
        text.remove_prefix(1);
    }
    return value;
}

// "1h30m", "1.5h", "90": units at most once each, from large to small.
std::optional<Duration> parse_units(std::string_view text) {
    constexpr std::string_view letters = "dhms";
    constexpr std::array<std::int64_t, 4> seconds{86400, 3600, 60, 1};
    std::int64_t nanos = 0;
    std::size_t next = 0;
    bool bare = false;
    do {
        const auto number = take_decimal(text);
        if (!number || bare) return std::nullopt;
        bare = text.empty();
        if (bare && next != 0) return std::nullopt;
        const std::size_t unit = bare ? 3 : letters.find(text.front(), next);
        if (unit == std::string_view::npos) return std::nullopt;
        if (!bare) text.remove_prefix(1);
        next = unit + 1;
        if (number->whole > most_seconds / seconds[unit]) return std::nullopt;
        nanos += number->whole * seconds[unit] * nanos_per_second + number->billionths * seconds[unit];
        if (nanos > most_seconds * nanos_per_second) return std::nullopt;
    } while (!text.empty());
    return Duration(nanos);
}

// "MM:SS", "HH:MM:SS", "D-HH[:MM[:SS]]" as batch systems print them. Only the first field, and the hours
// after days, may exceed their usual limits.
std::optional<Duration> parse_clock(std::string_view text) {
    std::optional<std::int64_t> days;
    if (text.find('-') != std::string_view::npos) {
        days = take_digits(text);
        if (!days || *days > most_seconds / 86400 || !text.starts_with('-')) return std::nullopt;
        text.remove_prefix(1);
    }
    std::array<std::int64_t, 3> fields{};
    std::size_t count = 0;
    for (;;) {
        const auto field = take_digits(text);
        if (!field || *field > most_seconds || (count > 0 && *field >= 60)) return std::nullopt;
        fields[count++] = *field;
        if (text.empty()) break;
        if (count == fields.size() || text.front() != ':') return std::nullopt;
        text.remove_prefix(1);
    }
    if (!days && count < 2) return std::nullopt;
    const bool no_hours = !days && count == 2;
    const std::int64_t hours = no_hours ? 0 : fields[0];
    const std::int64_t minutes = no_hours ? fields[0] : fields[1];
    const std::int64_t rest = no_hours ? fields[1] : fields[2];
    const std::int64_t total = days.value_or(0) * 86400 + hours * 3600 + minutes * 60 + rest;
    if (total > most_seconds) return std::nullopt;
    return Duration(total * nanos_per_second);
}

// The unit after a size; nullopt if it is not one.
std::optional<std::int64_t> size_unit(std::string_view suffix, std::int64_t bare_unit) {
    if (suffix.empty()) return bare_unit;
    if (suffix == "B" || suffix == "b") return 1;
    constexpr std::string_view letters = "kmgtp";
    const char lower = static_cast<char>(suffix.front() | 0x20);
    const std::size_t power = letters.find(lower);
    if (power == std::string_view::npos) return std::nullopt;
    suffix.remove_prefix(1);
    if (suffix.starts_with('i')) suffix.remove_prefix(1);
    if (!suffix.empty() && suffix != "B" && suffix != "b") return std::nullopt;
    return std::int64_t{1} << (10 * (power + 1));
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
    const bool clock = text.find_first_of(":-") != std::string_view::npos;
    if (const auto value = clock ? parse_clock(text) : parse_units(text)) return *value;
    return Error{ExitCode::usage,
                 quote_for_message(text) +
                     " is not a duration up to 100 years; write 90 (seconds), 1h30m, HH:MM:SS or "
                     "D-HH:MM:SS"};
}

Result<std::int64_t> parse_size(std::string_view text, std::int64_t bare_unit) {
    std::string_view rest = text;
    if (const auto number = take_decimal(rest)) {
        const auto unit = size_unit(rest, bare_unit);
        if (unit && number->whole <= most_bytes / *unit) {
            const double part = static_cast<double>(number->billionths) / 1e9 * static_cast<double>(*unit);
            const std::int64_t bytes = number->whole * *unit + static_cast<std::int64_t>(part);
            if (bytes <= most_bytes) return bytes;
        }
    }
    return Error{ExitCode::usage,
                 quote_for_message(text) + " is not a size up to 4096 PiB; write 512M, 4G or 1.5T"};
}

Result<std::int64_t> parse_count(std::string_view text, std::int64_t low, std::int64_t high) {
    std::string_view rest = text;
    const auto value = take_digits(rest);
    if (value && rest.empty() && *value >= low && *value <= high) return *value;
    std::string message = quote_for_message(text) + " is not a whole number ";
    if (high == std::numeric_limits<std::int64_t>::max()) {
        message += "of at least " + std::to_string(low);
    } else {
        message += "from " + std::to_string(low) + " to " + std::to_string(high);
    }
    return Error{ExitCode::usage, message};
}

namespace {

// "3m05s": two adjacent units, the smaller with two digits.
std::string pair_of_units(std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
    std::string text = std::to_string(large) + large_unit;
    if (small < 10) text += '0';
    return text + std::to_string(small) + small_unit;
}

std::int64_t divide_rounded(std::int64_t value, std::int64_t by) {
    return value / by + (value % by * 2 >= by ? 1 : 0);
}

// The length of the valid UTF-8 sequence at the front of `text`, else 0. The C1 controls U+0080..9F count as
// invalid: terminals interpret them.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
    for (std::size_t at = 1; at < size; ++at) {
        if ((byte(at) & 0xC0) != 0x80) return 0;
    }
    const unsigned second = byte(1);
    if ((lead == 0xC2 && second < 0xA0) || (lead == 0xE0 && second < 0xA0) ||
        (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second > 0x8F)) {
        return 0;
    }
    return size;
}

std::string shown(std::string_view text, std::string_view quote, std::size_t most) {
    const std::string cut = std::string(quote) + "...";
    std::string out(quote);
    std::size_t last_fit = out.size();  // where to truncate the text so that "..." still fits
    while (!text.empty()) {
        const auto lead = static_cast<unsigned char>(text.front());
        const std::size_t size = lead < 0x20 || lead == 0x7F ? 0 : utf8_length(text);
        if (size > 0) {
            out.append(text.substr(0, size));
        } else {
            constexpr std::string_view digits = "0123456789abcdef";
            out.append("\\x").append(1, digits[lead >> 4]).append(1, digits[lead & 15]);
        }
        text.remove_prefix(size > 0 ? size : 1);
        if (out.size() + cut.size() <= most) last_fit = out.size();
        if (out.size() + quote.size() > most) {
            out.resize(last_fit);
            return out.append(cut);
        }
    }
    return out.append(quote);
}

}  // namespace

std::string format_duration(Duration value) {
    const std::int64_t nanos = value.count();
    if (nanos < 0) return "-" + format_duration(Duration(-(nanos + 1)));
    const std::int64_t hundredths = divide_rounded(nanos, 10'000'000);
    if (hundredths < 1000) {
        std::array<char, 16> text{};
        std::snprintf(text.data(), text.size(), "%d.%02ds", static_cast<int>(hundredths / 100),
                      static_cast<int>(hundredths % 100));
        return text.data();
    }
    const std::int64_t seconds = divide_rounded(nanos, 1'000'000'000);
    if (seconds < 60) return std::to_string(seconds) + "s";
    if (seconds < 3600) return pair_of_units(seconds / 60, 'm', seconds % 60, 's');
    const std::int64_t minutes = divide_rounded(seconds, 60);
    if (minutes < 24 * 60) return pair_of_units(minutes / 60, 'h', minutes % 60, 'm');
    const std::int64_t hours = divide_rounded(seconds, 3600);
    return pair_of_units(hours / 24, 'd', hours % 24, 'h');
}

std::string format_size(std::int64_t bytes) {
    if (bytes < 0) return "-" + format_size(bytes == INT64_MIN ? INT64_MAX : -bytes);
    if (bytes < 1024) return std::to_string(bytes) + " B";
    constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.95 would print as "1024.0".
    while (value >= 1023.95 && unit + 1 < units.size()) value /= 1024, ++unit;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
    return text.data();
}

std::string format_count(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
    return text;
}

std::string count_of(std::uint64_t value, std::string_view noun) {
    return format_count(value).append(" ").append(noun).append(value == 1 ? "" : "s");
}

std::string quote_for_message(std::string_view text) {
    return shown(text, "'", 80);
}

std::string line_for_message(std::string_view text, std::size_t most) {
    return shown(text, "", most);
}

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
