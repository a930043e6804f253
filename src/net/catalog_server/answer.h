// Answers to queries, made in pieces as the reader takes them: a slow reader needs no copy of all records.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/catalog/record_table.h"
#include "net/frames/http_request.h"

namespace wq::net::catalog_server {

using frames::HttpRequest;

inline constexpr std::size_t piece_bytes = 64 << 10;

// Appends the next bytes to `out`, about piece_bytes of them; perhaps none yet, so that a search lets others
// be served. False: these were the last ones.
using Pieces = std::function<bool(std::string& out)>;

// The same for bytes that are made elsewhere: `deliver` is called later, or at once, on the server's thread.
using Deliver = std::function<void(std::string piece, bool more)>;
using LaterPieces = std::function<void(const Deliver& deliver)>;

// Has one of them.
struct HttpAnswer {
    Pieces now = {};
    LaterPieces later = {};
};

// What pages say of the server itself.
struct ServerFacts {
    std::string name, version;
    std::function<WallMicros()> wall;
};

// The records of `table`, which must outlive the answer, by the path: all of HTTP's answer.
Pieces answer_to(const HttpRequest& request, const catalog::RecordTable& table, const ServerFacts& facts);

Pieces answer_of_refusal(const Error& why);

// The head of an answer. CCTools' clients read until the connection closes.
std::string http_head(std::string_view status, std::string_view type, std::string_view more = {});
// All of an answer.
Pieces whole(std::string text);

// Each record of the table for which `where` is true goes through it, between `begin` and `end`.
struct RecordForm {
    std::string begin, between, end;
    std::function<void(const std::string& key, const catalog::RecordTable::Entry&, std::string& out)> write;
    std::optional<catalog::JxExpression> where;  // none: all
};
Pieces listed(const catalog::RecordTable& table, RecordForm form);

// The catalog as pages for people.

// All records; each is a row.
Pieces records_page(const catalog::RecordTable& table, const ServerFacts& facts);
// One record; only the page, without the lines of HTTP, as the next ones.
std::string record_page(const catalog::RecordTable::Entry& entry, const ServerFacts& facts);
std::string error_page(std::string_view status, const std::string& why);

// Lines of HTTP: such a page runs no script of another, and loads nothing.
std::string page_headers(std::string_view script_nonce = {});

// Text of a record in HTML: escaped, without control characters, at most `most` bytes.
std::string in_html(std::string_view text, std::size_t most = 300);

// The texts of pages, from the files page.css, page.js and page_body.html.
extern const std::string_view page_style;
extern const std::string_view page_script;
extern const std::string_view page_body;

}  // namespace wq::net::catalog_server
