#include "net/catalog/record_scanner.h"

#include <array>

namespace wq::net::catalog {

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
            if (*at_ == '"') return ++at_, true;
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
