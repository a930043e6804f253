// Texts of a run in HTML: nobody knows what is in them.
#pragma once

#include <string>
#include <string_view>

namespace wq::views::web {

// As text of HTML, also within quotes.
std::string html_text(std::string_view text);

// JSON for a <script>, which no text in it may end: these characters occur in its texts alone.
std::string script_json(std::string_view json);

}  // namespace wq::views::web
