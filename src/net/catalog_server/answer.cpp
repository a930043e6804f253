#include "net/catalog_server/answer.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/time.h"
#include "net/catalog/query.h"
#include "net/catalog/record.h"
#include "net/catalog_server/pages.h"

namespace wq::net::catalog_server {

namespace {

using catalog::RecordTable;

// A look at the clock takes as long as some records.
constexpr std::size_t work_between_looks = 64;
constexpr std::size_t work_of_evaluation = 16;
constexpr Duration longest_turn = std::chrono::milliseconds(1);
constexpr std::string_view plain_text = "text/plain; charset=utf-8";

void write_json(const std::string&, const RecordTable::Entry& entry, std::string& out) {
    out += entry.record.text();
}

void write_text(const std::string&, const RecordTable::Entry& entry, std::string& out) {
    const Json record = entry.record.json();
    for (const auto& [key, value] : record.members())
        out += catalog::without_controls(key) + " " +
               catalog::without_controls(value.is_string() ? value.text() : catalog::text_of(value)) + "\n";
    out += '\n';
}

void write_classads(const std::string&, const RecordTable::Entry& entry, std::string& out) {
    const Json record = entry.record.json();
    out += "[\n";
    for (const auto& [key, value] : record.members())
        out += catalog::without_controls(key) + "=" + catalog::text_of(value) + ";\n";
    out += "]\n";
}

Pieces refusal(std::string_view status, const std::string& why) {
    return whole(http_head(status, "text/html; charset=utf-8", page_headers()) + error_page(status, why));
}

Pieces query(std::string_view text, const RecordTable& table) {
    // A final '/' of the path; others are of the base64.
    if (text.size() % 4 == 1 && text.ends_with('/')) text.remove_suffix(1);
    const auto where = catalog::bytes_of_base64(text);
    if (!where) return refusal("400 Bad Request", "Invalid base-64 encoding.");
    auto expression = catalog::JxExpression::parse(*where);
    if (!expression) return refusal("400 Bad Request", "Invalid query text: " + expression.error().message);
    return listed(table, {.begin = http_head("200 OK", plain_text) + "[\n",
                          .between = ",\n",
                          .end = "\n\n]\n",
                          .write = write_json,
                          .where = std::move(*expression)});
}

}  // namespace

std::string http_head(std::string_view status, std::string_view type, std::string_view more) {
    std::string head = "HTTP/1.1 ";
    head.append(status).append("\r\nDate: ").append(utc_time(wall_now(), "%a, %d %b %Y %H:%M:%S GMT"));
    head.append("\r\nServer: catalog_server\r\nConnection: close\r\nCache-Control: no-store\r\n");
    head.append("X-Content-Type-Options: nosniff\r\nContent-Type: ").append(type).append("\r\n");
    return head.append(more).append("\r\n");
}

Pieces whole(std::string text) {
    return [text = std::move(text)](std::string& out) {
        out += text;
        return false;
    };
}

Pieces listed(const RecordTable& table, RecordForm form) {
    return [&table, form = std::move(form), last = std::optional<RecordTable::Place>(), first = true,
            any = false](std::string& out) mutable {
        if (std::exchange(first, false)) out += form.begin;
        auto at = table.behind(last ? &*last : nullptr);
        const Instant turn_ends = instant_now() + longest_turn;
        for (std::size_t work = 1; at != table.end(); ++at, ++work) {
            const auto& [place, entry] = *at;
            const bool may_match = !form.where || form.where->may_match_flat(entry.record);
            if (may_match && form.where) work += work_of_evaluation;
            if (may_match && (!form.where || form.where->matches_flat(entry.record))) {
                if (std::exchange(any, true)) out += form.between;
                form.write(place.key, entry, out);
            }
            bool turn_over = false;
            if (work >= work_between_looks) {
                turn_over = instant_now() >= turn_ends;
                work = 0;
            }
            if (turn_over || out.size() >= piece_bytes) {
                last = place;
                return true;
            }
        }
        out += form.end;
        return false;
    };
}

Pieces answer_to(const HttpRequest& request, const RecordTable& table, const ServerFacts& facts) {
    const std::string& path = request.path;
    const auto begins = [&](std::string_view with) { return path.starts_with(with); };
    if (path == "/" || path == "/query.html") return records_page(table, facts);
    if (path == "/query.json")
        return listed(table, {http_head("200 OK", plain_text) + "[\n", ",\n", "\n\n]\n", write_json, {}});
    if (path == "/query.text")
        return listed(table, {http_head("200 OK", plain_text), "", "", write_text, {}});
    if (path == "/query.newclassads")
        return listed(table, {http_head("200 OK", plain_text), "", "", write_classads, {}});
    if (begins("/query/")) return query(std::string_view(path).substr(7), table);
    if (begins("/detail/"))
        if (const auto* const entry = table.find(path.substr(8)); entry != nullptr)
            return whole(http_head("200 OK", "text/html; charset=utf-8", page_headers()) +
                         record_page(*entry, facts));
    return refusal("404 Not Found", "There is no such page here, or its record is no longer announced.");
}

Pieces answer_of_refusal(const Error& why) {
    return refusal("400 Bad Request", why.message);
}

}  // namespace wq::net::catalog_server
