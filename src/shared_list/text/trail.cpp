#include "shared_list/text/trail.h"

#include <cctype>
#include <optional>

#include "shared_list/text/text.h"

namespace wq::shared_list::text {

namespace {

constexpr std::string_view stamp_form = "00-00 00:00:00";  // 0: a digit
constexpr std::string_view beginning = "# worker ";

bool is_stamp(std::string_view text) {
    if (text.size() != stamp_form.size()) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool digit = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
        if (stamp_form[at] == '0' ? !digit : text[at] != stamp_form[at]) return false;
    }
    return true;
}

std::string_view take_stamp(std::string_view& rest) {
    const std::string_view stamp = rest.substr(0, stamp_form.size());
    if (!is_stamp(stamp)) return {};
    rest.remove_prefix(stamp.size());
    return stamp;
}

// "ok", "error3", "lost"
bool take_end(std::string_view& rest, Try& attempt) {
    if (take_text(rest, "ok")) {
        attempt.end = TryEnd::ok;
    } else if (take_text(rest, "lost")) {
        attempt.end = TryEnd::lost;
    } else if (take_text(rest, "error")) {
        attempt.end = TryEnd::error;
        attempt.exit_code = take_number<int>(rest).value_or(0);
    } else {
        return false;
    }
    return true;
}

// "# worker 3 # (07-28 15:52:33 ..."
std::optional<Try> take_begin(std::string_view& rest) {
    std::string_view text = rest;
    if (!take_text(text, beginning)) return std::nullopt;
    const auto worker = take_number<WorkerId>(text);
    if (!worker || !take_text(text, " # (")) return std::nullopt;
    const std::string_view stamp = take_stamp(text);
    if (stamp.empty() || !take_text(text, " ...")) return std::nullopt;
    rest = text;
    Try attempt;
    attempt.worker = *worker;
    attempt.begun = stamp;
    return attempt;
}

// Looks for "07-28 15:52:36) #ok" in `text`, the rest of a line up to its next try.
void find_end(std::string_view text, Try& attempt) {
    for (std::size_t close = text.find(") #"); close != std::string_view::npos;
         close = text.find(") #", close + 1)) {
        if (close < stamp_form.size() || !is_stamp(text.substr(close - stamp_form.size(), stamp_form.size())))
            continue;
        std::string_view rest = text.substr(close + 3);
        if (!take_end(rest, attempt)) continue;
        attempt.ended = trim(text.substr(0, close));
        return;
    }
}

}  // namespace

Trail split_trail(std::string_view line) {
    Trail trail;
    trail.before = line;
    std::size_t at = line.find(beginning);
    while (at != std::string_view::npos) {
        std::string_view rest = line.substr(at);
        auto attempt = take_begin(rest);
        const std::size_t next = line.find(beginning, at + 1);
        if (attempt) {
            if (trail.tries.empty()) trail.before = trim_right(line.substr(0, at));
            const std::size_t begin = line.size() - rest.size();
            find_end(line.substr(begin, next == std::string_view::npos ? next : next - begin), *attempt);
            trail.tries.push_back(std::move(*attempt));
        }
        at = next;
    }
    return trail;
}

}  // namespace wq::shared_list::text
