#include "catalog/flat_record.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace wq::catalog {

namespace {

std::uint32_t hash_of_key(std::string_view key) {
    std::uint32_t hash = 2166136261U;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::size_t end_of_text(std::string_view text, std::size_t at) {
    for (++at; text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return at + 1;
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
    for (int level = 0;; ++at) {
        const char c = text[at];
        if (c == '"') {
            at = end_of_text(text, at) - 1;
        } else if (c == '{' || c == '[') {
            ++level;
        } else if (level == 0 && (c == ',' || c == '}')) {
            return at;
        } else if (c == '}' || c == ']') {
            --level;
        }
    }
}

std::size_t behind_blanks(std::string_view text, std::size_t at) {
    while (text[at] == ' ') ++at;
    return at;
}

}  // namespace

FlatRecord::FlatRecord(std::string text) : text_(std::move(text)) {
    members_.reserve(static_cast<std::size_t>(std::ranges::count(text_, ':')));
    std::size_t at = behind_blanks(text_, text_.find('{') + 1);
    while (text_[at] == '"') {
        const std::size_t key = at + 1;
        const std::size_t key_end = end_of_text(text_, at) - 1;
        const std::size_t value = behind_blanks(text_, text_.find(':', key_end) + 1);
        const std::size_t end = end_of_value(text_, value);
        const auto place = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
        members_.push_back({hash_of_key(std::string_view(text_).substr(key, key_end - key)), place(key),
                            place(value), place(end)});
        at = text_[end] == ',' ? behind_blanks(text_, end + 1) : end;
    }
    members_.shrink_to_fit();
}

std::string_view FlatRecord::member(std::string_view key) const {
    const std::uint32_t hash = hash_of_key(key);
    for (const Member& one : members_) {
        if (one.hash != hash || text_.compare(one.key, key.size(), key) != 0 ||
            text_[one.key + key.size()] != '"')
            continue;
        return std::string_view(text_).substr(one.value, one.end - one.value);
    }
    return {};
}

bool FlatRecord::value_of(std::string_view key, Json& value) const {
    const std::string_view json = member(key);
    if (json.empty()) return false;
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), integer);
    if (error == std::errc() && end == json.data() + json.size())
        value = integer;
    else if (json.front() == '"' && json.back() == '"' && json.find('\\') == std::string_view::npos)
        value = json.substr(1, json.size() - 2);
    else
        value = Json::parse(json, nullptr, false);
    return true;
}

std::string FlatRecord::text_of(std::string_view key) const {
    Json value;
    return value_of(key, value) && value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t FlatRecord::integer_of(std::string_view key) const {
    Json value;
    return value_of(key, value) && value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

Json FlatRecord::json() const {
    return Json::parse(text_, nullptr, false);
}

FlatRecord FlatRecord::with(const std::vector<Given>& given) const {
    std::string text = "{";
    text.reserve(text_.size() + 200);
    for (const Member& one : members_) {
        const std::string_view member = std::string_view(text_).substr(one.key - 1, one.end - one.key + 1);
        const std::string_view key = member.substr(1, member.find('"', 1) - 1);
        if (std::ranges::any_of(given, [&](const Given& other) { return other.key == key; })) continue;
        text.append(member).push_back(',');
    }
    for (const Given& one : given)
        text.append("\"").append(one.key).append("\":").append(one.json).push_back(',');
    text.back() = '}';
    return FlatRecord(std::move(text));
}

}  // namespace wq::catalog
