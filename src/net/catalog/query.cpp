#include "net/catalog/query.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "net/catalog/conversation.h"
#include "net/catalog/record.h"

namespace wq::net::catalog {

namespace {

constexpr Duration patience_with_one = std::chrono::seconds(5);
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Error no_answer(const std::string& what) {
    return {ExitCode::unreachable, what};
}

// Nothing is readable of it but `stop`.
Status pause(Instant until, int stop) {
    const Status waited = wait_for(-1, 0, {until, stop}, "the query");
    return !waited && waited.error().code == ExitCode::interrupted ? waited : success();
}

}  // namespace

std::string base64_of(std::string_view bytes) {
    std::string text;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(c);
        for (count += 8; count >= 6; count -= 6) text += letters[bits >> (count - 6) & 63];
    }
    if (count > 0) text += letters[bits << (6 - count) & 63];
    text.append((4 - text.size() % 4) % 4, '=');
    return text;
}

Result<std::string> bytes_of_base64(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t value = letters.find(c);
        if (value == std::string_view::npos) return Error{ExitCode::bad_input, "no base64"};
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 255);
    }
    return bytes;
}

Result<std::vector<Json>> records_of_answer(std::string_view answer) {
    // CCTools' server ends these lines without a carriage return.
    const std::size_t first = answer.find('\n');
    const std::size_t head = std::min(answer.find("\n\n"), answer.find("\n\r\n"));
    if (!answer.starts_with("HTTP/1.") || first == std::string_view::npos || head == std::string_view::npos)
        return no_answer("this is no answer of a catalog server");
    if (const std::string_view line = answer.substr(0, first); line.size() < 12 || line.substr(9, 3) != "200")
        return no_answer("it refuses: " + line_for_message(line));
    if (is_too_deep(answer.substr(head))) return no_answer("its answer is nested too deeply");
    Json array = Json::parse(answer.substr(head), nullptr, false);
    if (!array.is_array() ||
        !std::ranges::all_of(array, [](const Json& record) { return record.is_object(); }))
        return no_answer("its answer is incomplete, or no list of records");
    return std::vector<Json>(std::move_iterator(array.begin()), std::move_iterator(array.end()));
}

std::optional<WallMicros> date_of_answer(std::string_view answer) {
    constexpr std::string_view name = "\r\nDate: ";
    const std::size_t at = answer.find(name);
    if (at == std::string_view::npos || at > answer.find("\r\n\r\n")) return std::nullopt;
    const std::string text(answer.substr(at + name.size(), answer.find('\r', at + 2) - at - name.size()));
    std::tm parts{};
    const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return ::timegm(&parts) * micros_per_second;
}

Result<std::vector<Json>> CatalogClient::query(const std::string& where, Instant until, int stop, bool once) {
    if (hosts_.empty()) return no_answer("no catalog server is named");
    const auto expression = JxExpression::parse(where.empty() ? "true" : where);
    if (!expression) return expression.error();
    const bool asks_all = where.empty() || expression->uses_like();
    const std::string path = asks_all ? "/query.json" : "/query/" + base64_of(where);
    for (Duration wait = std::chrono::seconds(1);; wait *= 2) {
        std::vector<std::size_t> order;
        for (const bool failing : {false, true})
            for (std::size_t at = 0; at < hosts_.size(); ++at)
                if (failing_.contains(at) == failing) order.push_back(at);
        std::string why;
        for (const std::size_t at : order) {
            if (!why.empty() && instant_now() >= until)
                break;  // the rest was not asked, and comes first next time
            const std::string name = frames::to_text(hosts_[at]);
            const auto answer = converse(
                hosts_[at], "GET " + path + " HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n",
                most_answer_bytes_, {std::min(until, instant_now() + patience_with_one), stop});
            if (!answer && answer.error().code == ExitCode::interrupted) return answer.error();
            auto records = answer ? records_of_answer(*answer) : Result<std::vector<Json>>(answer.error());
            if (records) {
                failing_.erase(at);
                answered_at_ = date_of_answer(*answer);
                std::erase_if(*records, [&](const Json& record) { return !expression->matches(record); });
                return records;
            }
            failing_.insert(at);
            why += (why.empty() ? "" : "; ") + (answer ? name + ": " : "") + records.error().message;
        }
        if (once || instant_now() + wait >= until) return no_answer(why);
        if (const Status paused = pause(instant_now() + wait, stop); !paused) return paused.error();
    }
}

}  // namespace wq::net::catalog
