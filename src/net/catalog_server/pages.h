// The catalog as pages for people.
#pragma once

#include <string>

#include "net/catalog_server/answer.h"

namespace wq::net::catalog_server {

// All records; each is a row.
Pieces records_page(const catalog::RecordTable& table, const ServerFacts& facts);
// One record; only the page, without the lines of HTTP, as the next ones.
std::string record_page(const catalog::RecordTable::Entry& entry, const ServerFacts& facts);
std::string error_page(std::string_view status, const std::string& why);

// Lines of HTTP: such a page runs no script of another, and loads nothing.
std::string page_headers(std::string_view script_nonce = {});

// Text of a record in HTML: escaped, without control characters, at most `most` bytes.
std::string in_html(std::string_view text, std::size_t most = 300);

}  // namespace wq::net::catalog_server
