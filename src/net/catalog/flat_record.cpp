#include "net/catalog/flat_record.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

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

namespace {

constexpr std::size_t most_digits = 18;

// Bytes of a text in quotes that mean nothing more than themselves.
constexpr std::array<bool, 256> make_plain_bytes() {
    std::array<bool, 256> plain{};
    for (std::size_t byte = 0x20; byte < 0x7f; ++byte) plain[byte] = byte != '"' && byte != '\\';
    return plain;
}
constexpr std::array<bool, 256> plain_bytes = make_plain_bytes();

class RecordScanner {
  public:
    explicit RecordScanner(std::string_view text) : at_(text.data()), begin_(at_), end_(at_ + text.size()) {}

    bool whole(std::vector<MemberPlace>& members) {
        members.reserve(64);
        return object(&members, 1) && at_ == end_;
    }

  private:
    bool more() const { return at_ < end_; }
    bool take(char c) {
        if (!more() || *at_ != c) return false;
        ++at_;
        return true;
    }
    void skip_blanks() {
        while (more() && *at_ == ' ') ++at_;
    }
    std::uint32_t place() const { return static_cast<std::uint32_t>(at_ - begin_); }

    bool object(std::vector<MemberPlace>* members, int level) {
        if (level > most_levels || !take('{')) return false;
        skip_blanks();
        if (take('}')) return true;
        for (;;) {
            MemberPlace member{0, place() + 1, 0, 0};
            if (!text()) return false;
            const std::uint32_t key_end = place() - 1;
            skip_blanks();
            if (!take(':')) return false;
            skip_blanks();
            member.value = place();
            if (!value(level)) return false;
            member.end = place();
            if (members != nullptr) {
                member.hash = hash_of_key({begin_ + member.key, key_end - member.key});
                members->push_back(member);
            }
            skip_blanks();
            if (take('}')) return true;
            if (!take(',')) return false;
            skip_blanks();
        }
    }

    bool array(int level) {
        if (level > most_levels || !take('[')) return false;
        skip_blanks();
        if (take(']')) return true;
        for (;;) {
            if (!value(level)) return false;
            skip_blanks();
            if (take(']')) return true;
            if (!take(',')) return false;
            skip_blanks();
        }
    }

    bool value(int level) {
        if (!more()) return false;
        switch (*at_) {
            case '{':
                return object(nullptr, level + 1);
            case '[':
                return array(level + 1);
            case '"':
                return text();
            case 't':
                return word("true");
            case 'f':
                return word("false");
            case 'n':
                return word("null");
            default:
                return number();
        }
    }

    bool word(std::string_view wanted) {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(wanted)) return false;
        at_ += wanted.size();
        return true;
    }

    std::size_t digits() {
        const char* const first = at_;
        while (more() && *at_ >= '0' && *at_ <= '9') ++at_;
        return static_cast<std::size_t>(at_ - first);
    }
    bool number() {
        take('-');
        const bool zero = more() && *at_ == '0';
        std::size_t count = digits();
        if (count == 0 || (zero && count > 1)) return false;
        if (take('.')) {
            const std::size_t behind = digits();
            if (behind == 0) return false;
            count += behind;
        }
        return count <= most_digits && !(more() && (*at_ == 'e' || *at_ == 'E'));
    }

    bool text() {
        if (!take('"')) return false;
        for (;;) {
            while (more() && plain_bytes[static_cast<unsigned char>(*at_)]) ++at_;
            if (!more()) return false;
            if (*at_ == '"') {
                ++at_;
                return true;
            }
            if (!character()) return false;
        }
    }

    // One of UTF-8 that has two to four bytes, and is none of the controls U+0080 to U+009F.
    bool character() {
        const auto byte = [&](std::ptrdiff_t n) {
            return end_ - at_ > n ? static_cast<unsigned char>(at_[n]) : 0U;
        };
        const auto continues = [&](std::ptrdiff_t n) { return byte(n) >= 0x80 && byte(n) < 0xc0; };
        const unsigned first = byte(0), second = byte(1);
        std::ptrdiff_t size = 0;
        if (first >= 0xc2 && first <= 0xdf)
            size = first == 0xc2 && second < 0xa0 ? 0 : 2;
        else if (first >= 0xe0 && first <= 0xef)
            size = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ? 0 : 3;
        else if (first >= 0xf0 && first <= 0xf4)
            size = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ? 0 : 4;
        for (std::ptrdiff_t n = 1; n < size; ++n)
            if (!continues(n)) return false;
        at_ += size;
        return size > 0;
    }

    const char* at_;
    const char* begin_;
    const char* end_;
};

}  // namespace

std::uint32_t hash_of_key(std::string_view key) {
    std::uint32_t hash = 2166136261U;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::optional<std::vector<MemberPlace>> members_of_usual(std::string_view text) {
    std::vector<MemberPlace> members;
    if (!RecordScanner(text).whole(members)) return std::nullopt;
    return members;
}

}  // namespace wq::net::catalog
