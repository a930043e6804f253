// The texts of pages, from the files page.css, page.js and page_body.html.
#pragma once

#include <string_view>

namespace wq::net::catalog_server {

extern const std::string_view page_style;
extern const std::string_view page_script;
extern const std::string_view page_body;

}  // namespace wq::net::catalog_server
