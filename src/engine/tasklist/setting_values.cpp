#include "engine/tasklist/setting_values.h"

#include "base/amounts.h"
#include "base/units.h"
#include "engine/tasklist/tags.h"

namespace wq::engine::tasklist {

namespace {

constexpr std::int64_t most_count = 1'000'000;

}  // namespace

Result<std::int64_t> parse_number(std::string_view text) {
    return parse_count(text, 0, most_count);
}

Result<Count> parse_fraction(std::string_view text) {
    return parse_count_with_fraction(text, 0, most_cores);
}

Result<std::int64_t> parse_megabytes(std::string_view text) {
    return parse_amount_mb(text);
}

Result<std::int64_t> parse_memory(std::string_view text) {
    auto megabytes = parse_megabytes(text);
    if (megabytes && *megabytes == 0) {
        return Error{ExitCode::usage, "a task needs more than '0' bytes; 'memory=' restores the default"};
    }
    return megabytes;
}

Result<std::string> parse_category_name(std::string_view text) {
    if (is_name(text)) return std::string(text);
    return Error{ExitCode::usage,
                 quote_for_message(text) + " is not a category name; use letters, digits and _ . -"};
}

}  // namespace wq::engine::tasklist
