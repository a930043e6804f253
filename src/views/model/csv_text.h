// Text in tables of CSV files.
#pragma once

#include <string>
#include <string_view>

namespace wq::views::model {

// Appends a field: in quotes where a comma or a quote is in it (RFC 4180), with control characters as "\xNN".
// Nobody knows what is in names of a run, so a text that a spreadsheet would take for a formula gets a '
// before.
void put_csv_text(std::string& row, std::string_view text);

}  // namespace wq::views::model
