#include "runtask/place.h"

namespace wq::runtask {

namespace {

// "USER@[::1]:FILE": ssh takes the address without the brackets.
bool take_bracketed(std::string_view text, Place& place) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find("]:");
    const bool user_before = open == 0 || (open != std::string_view::npos && text[open - 1] == '@');
    if (!user_before || close == std::string_view::npos || close < open) return false;
    if (text.substr(0, close).find('/') != std::string_view::npos) return false;
    place.host = std::string(text.substr(0, open)) + std::string(text.substr(open + 1, close - open - 1));
    place.path = text.substr(close + 2);
    return true;
}

}  // namespace

Place parse_place(std::string_view text, std::string_view host) {
    Place place;
    if (take_bracketed(text, place)) return place;
    const std::size_t colon = text.find(':');
    const bool has_host = colon != std::string_view::npos && colon > 0 && text.find('/') > colon;
    if (has_host) return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
    return {std::string(host), std::string(text)};
}

std::string to_text(const Place& place) {
    if (place.host.empty()) return place.path;
    const std::size_t at = place.host.rfind('@') + 1;  // 0 if there is none
    const std::string address = place.host.substr(at);
    const bool brackets = address.find(':') != std::string::npos;
    return place.host.substr(0, at) + (brackets ? "[" + address + "]" : address) + ":" + place.path;
}

}  // namespace wq::runtask
