#include "views/model/csv_text.h"

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace wq::views::model {

namespace {

bool is_formula(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" '"), text.size()));
    if (text.empty() || std::string_view("=+-@").find(text.front()) == std::string_view::npos) return false;
    return text.find_first_not_of("0123456789.", 1) != std::string_view::npos;  // else it is a number
}

}  // namespace

void put_csv_text(std::string& row, std::string_view text) {
    const std::string clean = (is_formula(text) ? "'" : "") + line_for_message(text, SIZE_MAX);
    if (clean.find_first_of(",\"") == std::string::npos) {
        row += clean;
        return;
    }
    row += '"';
    for (const char c : clean) row.append(c == '"' ? 2 : 1, c);
    row += '"';
}

}  // namespace wq::views::model
