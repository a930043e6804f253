#include "records/hdf5/stats_log.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "records/journal/append_file.h"

namespace wq::records::hdf5 {

namespace {

constexpr std::string_view before_start = "tasks_exhausted_attempts";

void put_value(std::string& out, std::int64_t value) {
    journal::put_number(out, value);
}
void put_value(std::string& out, double value) {
    char text[340];
    const int n = std::snprintf(text, sizeof text, "%f", value);
    out.append(text, static_cast<std::size_t>(n));
}

std::string_view take_word(std::string_view& rest) {
    const auto begin = rest.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
        rest = {};
        return {};
    }
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
    rest.remove_prefix(word.size());
    return word;
}

const Column* column_named(std::string_view name) {
    for (const Column& column : schema_of(Dataset::manager).columns) {
        if (name == column.name) return &column;
    }
    return nullptr;
}

// The whole word must be a number in the type's range; if it is out of range, `value` is unchanged.
template <class Number>
bool read_whole(std::string_view word, Number& value) {
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    return stop == end && error == std::errc{};
}

bool store(std::string_view word, const Column& column, ManagerRow& row) {
    double value = 0;
    std::int64_t whole = 0;
    const bool is_whole = read_whole(word, whole);
    if (!is_whole && !read_whole(word, value)) return false;
    char* at = reinterpret_cast<char*>(&row) + column.offset;
    if (column.type == ColumnType::f64) {
        if (is_whole) value = static_cast<double>(whole);
        std::memcpy(at, &value, sizeof value);
    } else {
        // A value beyond the integers, or not finite, is damage.
        if (!is_whole) {
            if (!(value > -9e18 && value < 9e18)) return false;
            whole = static_cast<std::int64_t>(value);
        }
        std::memcpy(at, &whole, sizeof whole);
    }
    return true;
}

// Fills in both the manual's and Work Queue's names.
void fill_aliases(ManagerRow& row) {
#define WQ_FILL(type, name, of, unit, meaning) \
    if (row.of == 0) row.of = row.name;        \
    row.name = row.of;
    WQ_MANAGER_ALIASES(WQ_FILL)
#undef WQ_FILL
}

struct Reader {
    const std::string& name;
    std::vector<const Column*> columns;  // per word of a row; nullptr: unknown here
    std::vector<ManagerRow> rows;
    std::size_t line_number = 0;

    Error refused(std::string_view why) const {
        return {ExitCode::bad_input, name + ":" + std::to_string(line_number) + ": " + std::string(why)};
    }

    bool take_heading(std::string_view line) {
        take_word(line);  // "#", alone or not
        std::vector<const Column*> found;
        bool has_timestamp = false;
        for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
            found.push_back(column_named(word));
            has_timestamp = has_timestamp || word == "timestamp";
        }
        if (has_timestamp) columns = std::move(found);
        return has_timestamp;
    }

    Status take_row(std::string_view line, bool complete) {
        ManagerRow row;
        for (const Column* column : columns) {
            const std::string_view word = take_word(line);
            if (word.empty() || (column != nullptr && !store(word, *column, row))) {
                if (!complete) return success();
                return refused(word.empty() ? "a row with fewer columns than the heading"
                                            : "no number in a row");
            }
        }
        if (!complete) return success();
        fill_aliases(row);
        rows.push_back(row);
        return success();
    }
};

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
std::string stats_log_heading() {
    std::string out = "# timestamp";
#define WQ_NAME(type, name, unit, meaning) \
    out += " " #name;                      \
    if (std::string_view(#name) == before_start) out += " time_when_started";
    WQ_MANAGER_STATS(WQ_NAME)
    WQ_OWN_STATS(WQ_NAME)
#undef WQ_NAME
#define WQ_ALIAS(type, name, of, unit, meaning) out += " " #name;
    WQ_MANAGER_ALIASES(WQ_ALIAS)
#undef WQ_ALIAS
    return out + "\n";
}

// NOLINTNEXTLINE(readability-function-size): a table
void put_stats_line(std::string& out, const journal::Sample& sample) {
    journal::put_number(out, sample.time_us);
#define WQ_VALUE(type, name, unit, meaning)             \
    out += ' ';                                         \
    put_value(out, sample.stats.name);                  \
    if (std::string_view(#name) == before_start) {      \
        out += ' ';                                     \
        put_value(out, sample.stats.time_when_started); \
    }
    WQ_MANAGER_STATS(WQ_VALUE)
    WQ_OWN_STATS(WQ_VALUE)
#undef WQ_VALUE
#define WQ_ALIAS(type, name, of, unit, meaning) \
    out += ' ';                                 \
    put_value(out, sample.stats.of);
    WQ_MANAGER_ALIASES(WQ_ALIAS)
#undef WQ_ALIAS
    out += '\n';
}

Result<std::vector<ManagerRow>> read_stats_log(std::string_view text, const std::string& name) {
    Reader reader{name, {}, {}, 0};
    while (!text.empty()) {
        const auto end = text.find('\n');
        const bool complete = end != std::string_view::npos;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(complete ? end + 1 : text.size());
        ++reader.line_number;
        if (line.empty()) continue;
        if (line.front() == '#') {
            reader.take_heading(line);
        } else if (!reader.columns.empty()) {
            if (auto taken = reader.take_row(line, complete); !taken) return taken.error();
        }
        if (reader.columns.empty() && reader.line_number >= 10) break;
    }
    if (reader.columns.empty()) {
        return Error{ExitCode::bad_input,
                     name +
                         ": no statistics: neither a stats.h5 nor a text log with a line "
                         "`# timestamp ...` among its first 10"};
    }
    return std::move(reader.rows);
}

}  // namespace wq::records::hdf5
