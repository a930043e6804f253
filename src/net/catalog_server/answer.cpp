#include "net/catalog_server/answer.h"

#include <cctype>
#include <utility>

#include "base/json.h"
#include "base/random_bits.h"
#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/record.h"

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
    return [&table, form = std::move(form), last = std::optional<RecordTable::ListKey>(), first = true,
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

namespace {

using catalog::FlatRecord;

std::string page_begin(const std::string& title) {
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
           title + "</title>\n<style>\n" + std::string(page_style) + "</style></head><body><main>\n";
}

std::string text_in(const FlatRecord& record, const char* key) {
    Json value;
    if (!record.value_of(key, value)) return {};
    return value.is_string() ? value.text() : catalog::text_of(value);
}

std::optional<double> member_number(const FlatRecord& record, const char* key) {
    Json value;
    if (!record.value_of(key, value) || !value.is_number()) return std::nullopt;
    return value.number();
}

std::string cell(const std::string& text, const char* classes = "") {
    return std::string("<td class=\"") + classes + "\">" + in_html(text) + "</td>";
}

std::string number_cell(const FlatRecord& record, const char* key, const char* classes) {
    const auto number = member_number(record, key);
    if (!number) return std::string("<td class=\"") + classes + " faint\" data-value=\"\">–</td>";
    const std::string text(record.member(key));
    return std::string("<td class=\"") + classes + "\" data-value=\"" + text + "\">" + text + "</td>";
}

std::string progress_cell(const FlatRecord& record) {
    const double done = member_number(record, "tasks_complete").value_or(0);
    const double all = done + member_number(record, "tasks_waiting").value_or(0) +
                       member_number(record, "tasks_running").value_or(0);
    if (!(all > 0)) return "<td class=\"third\" data-value=\"\"></td>";
    const std::string part = std::to_string(done / all);
    return "<td class=\"third\" data-value=\"" + part + "\"><progress max=\"1\" value=\"" + part +
           "\"></progress></td>";
}

std::string age_cell(const FlatRecord& record, WallMicros wall) {
    const auto heard = static_cast<std::int64_t>(member_number(record, "lastheardfrom").value_or(0));
    const std::int64_t age = std::max<std::int64_t>(0, wall / micros_per_second - heard);
    return "<td class=\"n third\" data-value=\"" + std::to_string(age) + "\">" +
           (age < 60 ? std::to_string(age) + " s" : format_duration(std::chrono::seconds(age))) + "</td>";
}

// Other bytes than those of names in paths.
std::string in_path(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string path;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_')
            path += c;
        else
            path += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return path;
}

void write_row(const std::string& key, const RecordTable::Entry& entry, WallMicros wall, std::string& out) {
    const FlatRecord& record = entry.record;
    std::string title = text_in(record, "project");
    for (const char* const other : {"factory_name", "name"})
        if (title.empty()) title = text_in(record, other);
    out += "<tr><td><a href=\"detail/" + in_path(key) + "\">" + in_html(title, 120) + "</a></td>" +
           cell(text_in(record, "type"), "second") + cell(text_in(record, "name"), "third") +
           number_cell(record, "port", "n second") + cell(text_in(record, "owner"), "second") +
           number_cell(record, "tasks_waiting", "n") + number_cell(record, "tasks_running", "n") +
           number_cell(record, "tasks_complete", "n") + progress_cell(record) +
           number_cell(record, "workers", "n") + age_cell(record, wall) + "</tr>\n";
}

std::string title_of(const ServerFacts& facts) {
    return "Catalog of " + in_html(facts.name);
}

}  // namespace

std::string page_headers(std::string_view script_nonce) {
    std::string lines =
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    if (!script_nonce.empty()) lines.append("; script-src 'nonce-").append(script_nonce).append("'");
    return lines + "\r\nReferrer-Policy: no-referrer\r\n";
}

std::string in_html(std::string_view text, std::size_t most) {
    const bool cut = text.size() > most;
    if (cut) text = text.substr(0, most);
    // Not within a character.
    while (cut && !text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
        text.remove_suffix(1);
    if (cut && !text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.remove_suffix(1);
    std::string escaped;
    for (const char c : catalog::without_controls(text)) switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += c;
        }
    return cut ? escaped + "…" : escaped;
}

Pieces records_page(const RecordTable& table, const ServerFacts& facts) {
    const WallMicros wall = facts.wall();
    const std::string nonce = std::to_string(random_bits()) + std::to_string(random_bits());
    RecordForm form;
    form.begin = http_head("200 OK", "text/html; charset=utf-8", page_headers(nonce)) +
                 page_begin(title_of(facts)) +
                 "<noscript><meta http-equiv=\"refresh\" content=\"30\"></noscript>\n<h1>" + title_of(facts) +
                 "</h1>\n<p>" + count_of(table.size(), "record") +
                 ", <span id=\"state\">renewed every 15 s</span>; as "
                 "<a href=\"query.json\">JSON</a>, <a href=\"query.text\">text</a>, "
                 "<a href=\"query.newclassads\">ClassAds</a>. Anyone who reaches this server may announce a "
                 "name.</p>\n" +
                 std::string(page_body);
    form.end = "</tbody></table></div>\n<script nonce=\"" + nonce + "\">\n" + std::string(page_script) +
               "</script></main></body></html>\n";
    form.write = [wall](const std::string& key, const RecordTable::Entry& entry, std::string& out) {
        write_row(key, entry, wall, out);
    };
    return listed(table, std::move(form));
}

std::string record_page(const RecordTable::Entry& entry, const ServerFacts& facts) {
    const Json record = entry.record.json();
    std::string title = text_in(entry.record, "project");
    if (title.empty()) title = text_in(entry.record, "name");
    constexpr std::size_t most = 20'000;
    std::string page = page_begin(in_html(title, 120)) + "<p><a href=\"../\">" + title_of(facts) +
                       "</a></p>\n<h1>" + in_html(title) + "</h1>\n<div class=\"wide\"><table><tbody>\n";
    std::size_t rows = 0;
    for (const auto& [key, value] : record.members()) {
        if (++rows > 1000) break;
        page += "<tr><th>" + in_html(key) + "</th><td>";
        if (value.is_structured())
            page += "<pre>" + in_html(catalog::text_of(value), most) + "</pre>";
        else
            page += in_html(value.is_string() ? value.text() : catalog::text_of(value), most);
        page += "</td></tr>\n";
    }
    return page + "</tbody></table></div></main></body></html>\n";
}

std::string error_page(std::string_view status, const std::string& why) {
    const std::string title = in_html(status);
    return page_begin(title) + "<h1>" + title + "</h1><p>" + in_html(why, 1000) +
           "</p><p><a href=\"/\">All records</a></p></main></body></html>\n";
}

}  // namespace wq::net::catalog_server
