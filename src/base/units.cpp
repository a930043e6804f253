#include "base/units.h"

#include <array>
#include <charconv>
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

}  // namespace wq
