#include "engine/tasklist/list.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <numeric>

#include "base/units.h"
#include "engine/tasklist/settings.h"
#include "engine/tasklist/shell_scan.h"
#include "engine/tasklist/tags.h"

namespace wq::engine::tasklist {

namespace {

Error bad_line(std::string message) {
    return Error{ExitCode::bad_input, std::move(message)};
}

bool is_garbage(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\x1b') || byte == 0x7F;
}

// Control bytes that no text has; tab is allowed, and escape, for coloured echoes.
std::optional<std::string> garbage_in(std::string_view line) {
    // Without an early exit the compiler can vectorize the loop.
    bool any = false;
    for (const char c : line) any |= is_garbage(c);
    if (!any) return std::nullopt;
    const auto at = std::ranges::find_if(line, is_garbage);
    const std::string column = " at column " + std::to_string(at - line.begin() + 1);
    if (*at == '\0') return "a NUL byte" + column + "; a task list is plain text";
    return "a control byte " + quote_for_message(std::string_view(&*at, 1)) + column +
           "; a task list is plain text (in a command, write it as an escape of printf)";
}

// Variables by which a `runtask` list configures where its workers run.
std::optional<std::string_view> runtask_variable(std::string_view command) {
    constexpr std::array<std::string_view, 3> names{"newtask", "newid", "jumpto"};
    const std::string plain = scan_shell(command).plain;
    for (const std::string_view name : names) {
        for (std::size_t at = plain.find(name); at != std::string::npos; at = plain.find(name, at + 1)) {
            const std::string_view rest = std::string_view(plain).substr(at + name.size());
            const bool word =
                at == 0 || std::string_view(" \t;&|({!").find(plain[at - 1]) != std::string_view::npos;
            if (word && (rest.starts_with('=') || rest.starts_with("+="))) return name;
        }
    }
    return std::nullopt;
}

std::optional<std::string> refuse_environment(const TaggedLine& line) {
    if (!line.tags.groups.empty()) {
        return "a '#!' line cannot be in a group; put a bare '#:' line before it, and only '#!' on it";
    }
    if (const auto name = runtask_variable(line.command)) {
        return "'" + std::string(*name) + "' works only in runtask; this list cannot jump or rename workers";
    }
    return std::nullopt;
}

bool all_tags(std::string_view words) {
    for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
        if (!is_tag_word(word)) return false;
    }
    return true;
}

enum class HashLine { comment, settings, category, tags, lone_tag_and_words, misspelt_settings };

// The kind of a line whose first non-blank byte is `#`.
HashLine kind_of(std::string_view line) {
    std::string_view rest = line;
    const std::string_view first = take_word(rest);
    if (first == "#WQ") return HashLine::settings;
    if (first == "#WQ-CATEGORY") return HashLine::category;
    if (first == "#wq" || first == "#Wq" || first.starts_with("#WQ")) return HashLine::misspelt_settings;
    if (all_tags(line)) return HashLine::tags;
    const bool lone = first == "#:" || first == "#!";
    const std::string_view second = take_word(rest);
    const bool shebang = first == "#!" && second.starts_with('/');
    return lone && !shebang ? HashLine::lone_tag_and_words : HashLine::comment;
}

Result<std::optional<Item>> tags_alone(std::string_view line, std::uint64_t number) {
    auto split = split_tags(line);
    if (!split) return split.error();
    const Tags& tags = split->tags;
    const bool bare = tags.barrier && tags.groups.size() == 1 && !tags.environment && tags.workers.empty();
    if (bare) return std::optional<Item>(Barrier{number});
    return bad_line(
        "tags without a command; write the command before its tags (only a bare '#:' stands alone)");
}

}  // namespace

Result<std::optional<Item>> ListReader::hash_line(std::string_view line) {
    switch (kind_of(line)) {
        case HashLine::comment:
            return std::optional<Item>{};
        case HashLine::tags:
            return tags_alone(line, line_);
        case HashLine::misspelt_settings:
            return bad_line("settings begin with '#WQ ', those of a category with '#WQ-CATEGORY NAME'");
        case HashLine::lone_tag_and_words:
            return bad_line("tags follow a command, or '#:' stands alone; write a comment as '# ...'");
        case HashLine::category:
        case HashLine::settings:
            break;
    }
    const std::string_view text = line;
    if (take_word(line) == "#WQ-CATEGORY") {
        auto category = parse_category_line(line);
        if (!category) return category.error();
        if (auto status = category_bounds_.take(*category, line_); !status) return status.error();
        return std::optional<Item>(CategorySettings{line_, std::move(*category), std::string(text)});
    }
    const std::vector<std::string> before = settings_.outputs;
    if (auto status = apply_settings(line, settings_); !status) return status.error();
    if (settings_.outputs != before) outputs_made_at_ = 0;
    return std::optional<Item>(SettingsLine{line_, settings_});
}

Result<std::optional<Item>> ListReader::command_line(std::string_view line) {
    auto split = split_tags(line);
    if (!split) return split.error();
    if (!split->tags.environment) {
        // Two tasks that make one file: the last one to finish would win, and a folder would have only its
        // files.
        if (!settings_.outputs.empty() && std::exchange(outputs_made_at_, line_) != 0)
            return bad_line("the output " + quote_for_message(settings_.outputs.front()) +
                            " already belongs to another task; give each its own '#WQ output=PATH', or '#WQ "
                            "output=' for none");
        TaskLine task;
        task.line = line_;
        task.command = split->command;
        task.groups = std::move(split->tags.groups);
        task.workers = std::move(split->tags.workers);
        task.environment_position = environment_lines_;
        return std::optional<Item>(std::move(task));
    }
    if (auto problem = refuse_environment(*split)) return bad_line(std::move(*problem));
    return std::optional<Item>(EnvironmentLine{line_, ++environment_lines_, std::string(split->command),
                                               std::move(split->tags.workers)});
}

Result<std::optional<Item>> ListReader::item_of(std::string_view line) {
    if (line.size() > max_line_bytes) {
        return bad_line("a line longer than 1 MiB; put the command into a script, or its input into a file");
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // editors mark UTF-8 this way
    if (auto problem = garbage_in(line)) return bad_line(std::move(*problem));
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return std::optional<Item>{};
    line.remove_prefix(start);
    return line.front() == '#' ? hash_line(line) : command_line(line);
}

Status ListReader::take_line(std::string_view line, std::vector<Item>& items) {
    ++line_;
    auto item = item_of(line);
    if (!item) {
        Error error = item.error();
        error.message = name_ + ":" + std::to_string(line_) + ": " + error.message;
        error_ = error;
        return error;
    }
    if (item->has_value()) items.push_back(std::move(**item));
    return success();
}

Status ListReader::feed(std::string_view bytes, std::vector<Item>& items) {
    if (error_) return *error_;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        const bool complete = end != std::string_view::npos;
        if (!complete || !partial_.empty()) {
            // One byte above the limit is enough to report it.
            partial_.append(
                piece.substr(0, max_line_bytes + 1 - std::min(partial_.size(), max_line_bytes + 1)));
        }
        if (complete || partial_.size() > max_line_bytes) {
            const std::string line = std::exchange(partial_, {});
            if (auto status = take_line(line.empty() ? piece : line, items); !status) return status;
        }
        bytes.remove_prefix(complete ? end + 1 : bytes.size());
    }
    return success();
}

Status ListReader::finish(std::vector<Item>& items) {
    if (error_) return *error_;
    const std::string line = std::exchange(partial_, {});
    return line.empty() ? success() : take_line(line, items);
}

namespace {

// Journals store these keys: the function never changes and is the same on every machine.
constexpr std::uint64_t odd_a = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
constexpr std::uint64_t odd_b = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t odd_c = 0xD6E8FEB86659FD93;

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t word = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        word |= std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
    }
    return word;
}

// Each step is a bijection of the state, and for a given state also of the word: no word can erase the effect
// of earlier ones.
std::uint64_t absorb(std::uint64_t state, std::uint64_t word) {
    word = std::rotl(word * odd_a, 31) * odd_b;
    return std::rotl(state ^ word, 27) * odd_c + odd_a;
}

// Every bit of the result depends on every bit of the value.
std::uint64_t finalize(std::uint64_t value) {
    value = (value ^ (value >> 32)) * odd_c;
    value = (value ^ (value >> 29)) * odd_b;
    return value ^ (value >> 32);
}

}  // namespace

std::uint64_t content_key(std::string_view text, std::uint32_t occurrence) {
    std::uint64_t state = odd_b ^ text.size();
    while (text.size() >= 8) {
        state = absorb(state, little_endian(text.substr(0, 8)));
        text.remove_prefix(8);
    }
    if (!text.empty()) state = absorb(state, little_endian(text));
    return finalize(finalize(state) + occurrence * odd_a);
}

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

namespace {

__extension__ using Wide = unsigned __int128;

// The x with value * x = 1 modulo `modulus`; the two are coprime.
std::uint64_t inverse(std::uint64_t value, std::uint64_t modulus) {
    // The absolute values of coefficients stay below the modulus; they are kept as non-negative remainders.
    std::uint64_t before = 0;
    std::uint64_t now = 1 % modulus;
    std::uint64_t high = modulus;
    std::uint64_t low = value % modulus;
    while (low > 1) {
        const std::uint64_t quotient = high / low;
        const auto product = static_cast<std::uint64_t>(Wide{quotient} * now % modulus);
        const std::uint64_t next = before >= product ? before - product : before + (modulus - product);
        before = now, now = next;
        high = std::exchange(low, high % low);
    }
    return now;
}

}  // namespace

std::optional<std::uint64_t> first_common(const IndexRange& a, const IndexRange& b) {
    const std::uint64_t low = std::max(a.first, b.first);
    const std::uint64_t high = std::min(a.last, b.last);
    if (low > high) return std::nullopt;
    const std::uint64_t common_step = std::gcd(a.step, b.step);
    const std::uint64_t offset = a.first <= b.first ? b.first - a.first : a.first - b.first;
    if (offset % common_step != 0) return std::nullopt;

    // Solves a.first + a.step * k = b.first modulo b.step for the least k (Chinese remainder theorem).
    const std::uint64_t modulus = b.step / common_step;
    std::uint64_t target = offset / common_step % modulus;
    if (a.first > b.first && target != 0) target = modulus - target;
    const auto k =
        static_cast<std::uint64_t>(Wide{target} * inverse(a.step / common_step, modulus) % modulus);
    const Wide period = Wide{a.step} * modulus;
    Wide meeting = Wide{a.first} + Wide{a.step} * k;
    if (meeting < low) meeting += (low - meeting + period - 1) / period * period;
    if (meeting > high) return std::nullopt;
    return static_cast<std::uint64_t>(meeting);
}

}  // namespace wq::engine::tasklist
