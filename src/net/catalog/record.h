// A record of a catalog: what a manager, a factory or another catalog says of itself, as CCTools' programs
// send it (deltadb/src/net/catalog_server.c, dttools/src/catalog_query.c).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "net/catalog/flat_record.h"
#include "net/catalog/jx.h"

namespace wq::net::catalog {

inline constexpr std::size_t most_record_bytes = 1 << 20;

// More than most_levels; asked before JSON is parsed.
bool is_too_deep(std::string_view text);

// The record of an update: a JSON object; or lines "key value"; or either as a zlib
// stream behind the byte 0x1a. Error bad_input: none of them, larger than most_record_bytes, or nested deeper
// than 100 levels.
Result<FlatRecord> read_update(std::string_view bytes);

// JSON, in one line or indented, that does nothing to a terminal: what is not UTF-8 is replaced, control
// characters are escaped.
std::string text_of(const Json& value, int indent = -1);
// A text of a record, with blanks in place of control characters.
std::string without_controls(std::string_view text);

// Of a member of an object. Empty, or 0: it has none of this type. Larger numbers count as INT64_MAX.
std::string text_in(const Json& record, const char* key);
std::int64_t integer_in(const Json& record, const char* key);

// A record as a packet: compressed if the text has `limit` bytes or more.
std::string packet_of(const Json& record, std::size_t limit);

// "ADDRESS:PORT:NAME" with the name that it has given itself, and ":UUID" if the record has one: a record
// replaces the one of the same key.
std::string key_of(const FlatRecord& record, const std::string& address, const std::string& own_name);

// How long it is kept: its own `lifetime` (s), at most `longest`.
Duration lifetime_of(const FlatRecord& record, Duration longest);

}  // namespace wq::net::catalog
