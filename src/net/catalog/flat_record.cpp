#include "net/catalog/flat_record.h"

#include <algorithm>

#include "base/json.h"
#include "base/read_text.h"

namespace wq::net::catalog {

namespace {

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
    hash_values();
}

FlatRecord::FlatRecord(std::string text, std::vector<MemberPlace> members)
    : text_(std::move(text)), members_(std::move(members)) {
    hash_values();
}

void FlatRecord::hash_values() {
    constexpr std::size_t longest = 512;
    for (std::size_t at = 0; at < hashed.size(); ++at) {
        const std::string_view json = member(hashed[at]).substr(0, longest);
        const bool as_it_is = json.size() < longest && json.find('\\') == std::string_view::npos;
        hashes_[at] = as_it_is ? hash_of_key(json) : 0;
    }
}

bool FlatRecord::is_surely_not(std::string_view key, std::uint32_t hash_of_json) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(hashed, key) - hashed.begin());
    return at < hashed.size() && hashes_[at] != 0 && hashes_[at] != hash_of_json;
}

std::string_view FlatRecord::member(std::string_view key, std::uint32_t hash) const {
    for (const MemberPlace& one : members_) {
        if (one.hash != hash || text_.compare(one.key, key.size(), key) != 0 ||
            text_[one.key + key.size()] != '"')
            continue;
        return std::string_view(text_).substr(one.value, one.end - one.value);
    }
    return {};
}

std::string_view FlatRecord::name_at(std::size_t at) const {
    const MemberPlace& one = members_[at];
    return std::string_view(text_).substr(one.key, end_of_text(text_, one.key - 1) - 1 - one.key);
}

std::string_view FlatRecord::value_at(std::size_t at) const {
    const MemberPlace& one = members_[at];
    return std::string_view(text_).substr(one.value, one.end - one.value);
}

bool FlatRecord::value_of(std::string_view key, Json& value) const {
    const std::string_view json = member(key);
    if (json.empty()) return false;
    if (const auto integer = number_in<std::int64_t>(json))
        value = *integer;
    else if (json.front() == '"' && json.back() == '"' && json.find('\\') == std::string_view::npos)
        value = json.substr(1, json.size() - 2);
    else
        value = Json::parse(json);
    return true;
}

std::string FlatRecord::text_of(std::string_view key) const {
    const std::string_view json = member(key);
    if (json.size() < 2 || json.front() != '"') return {};
    if (json.find('\\') == std::string_view::npos) return std::string(json.substr(1, json.size() - 2));
    const Json value = Json::parse(json);
    return value.is_string() ? value.text() : std::string();
}

std::int64_t FlatRecord::integer_of(std::string_view key) const {
    return number_in<std::int64_t>(member(key)).value_or(0);
}

Json FlatRecord::json() const {
    return Json::parse(text_);
}

FlatRecord FlatRecord::with(const std::vector<Given>& given) const {
    std::string text = "{";
    std::size_t more = 0;
    for (const Given& one : given) more += one.key.size() + one.json.size() + 4;
    text.reserve(text_.size() + more + 1);
    std::vector<MemberPlace> members;
    members.reserve(members_.size() + given.size());
    const auto at = [&] { return static_cast<std::uint32_t>(text.size()); };
    const auto is_given = [&](const MemberPlace& one, std::uint32_t hash, std::string_view key) {
        return one.hash == hash && text_.compare(one.key, key.size(), key) == 0 &&
               text_[one.key + key.size()] == '"';
    };
    std::vector<std::uint32_t> hashes;
    for (const Given& one : given) hashes.push_back(hash_of_key(one.key));
    for (const MemberPlace& one : members_) {
        bool replaced = false;
        for (std::size_t n = 0; n < given.size(); ++n)
            replaced = replaced || is_given(one, hashes[n], given[n].key);
        if (replaced) continue;
        const std::uint32_t moved = at() + 1 - one.key;  // perhaps downwards: modulo 2^32
        members.push_back({one.hash, one.key + moved, one.value + moved, one.end + moved});
        text.append(text_, one.key - 1, one.end - one.key + 1).push_back(',');
    }
    for (std::size_t n = 0; n < given.size(); ++n) {
        const Given& one = given[n];
        if (one.json.empty()) continue;
        const std::uint32_t key = at() + 1;
        const auto value = static_cast<std::uint32_t>(key + one.key.size() + 2);
        members.push_back({hashes[n], key, value, static_cast<std::uint32_t>(value + one.json.size())});
        text.append("\"").append(one.key).append("\":").append(one.json).push_back(',');
    }
    if (text.size() == 1)
        text += '}';
    else
        text.back() = '}';
    return {std::move(text), std::move(members)};
}

}  // namespace wq::net::catalog
