#include "functions/coprocess/json_object.h"

#include <algorithm>

namespace wq::functions::coprocess {

namespace {

constexpr std::string_view blanks = " \t\r\n";

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::optional<JsonObject> object(const OnJsonMember& on_member) {
        if (!takes('{')) return std::nullopt;
        for (bool more = !takes('}'); more;) {
            found_.empty = false;
            skip_blanks();
            const std::size_t key = at_;
            if (!skip_string()) return std::nullopt;
            const std::string_view name = text_.substr(key + 1, at_ - key - 2);
            if (!takes(':')) return std::nullopt;
            skip_blanks();
            const std::size_t value = at_;
            if (!skip_value()) return std::nullopt;
            on_member(name, text_.substr(value, at_ - value));
            more = takes(',');
            if (!more && !takes('}')) return std::nullopt;
        }
        found_.end = at_ - 1;
        skip_blanks();
        if (at_ != text_.size()) return std::nullopt;
        return found_;
    }

  private:
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size()); }
    bool takes(char which) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != which) return false;
        ++at_;
        return true;
    }
    bool skip_string() {
        if (at_ == text_.size() || text_[at_] != '"') return false;
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '"') {
                ++at_;
                return true;
            }
            if (text_[at_] == '\\') ++at_;
        }
        return false;
    }
    bool skip_value() {
        if (at_ == text_.size()) return false;
        if (text_[at_] == '"') return skip_string();
        if (text_[at_] == '{' || text_[at_] == '[') return skip_nested();
        const std::size_t first = at_;
        at_ = std::min(text_.find_first_of(",{}[]\": \t\r\n", at_), text_.size());
        return at_ > first;
    }
    bool skip_nested() {
        for (std::size_t depth = 0; at_ < text_.size();) {
            const char byte = text_[at_];
            if (byte == '"') {
                if (!skip_string()) return false;
                continue;
            }
            ++at_;
            if (byte == '{' || byte == '[') found_.depth = std::max(found_.depth, ++depth + 1);
            if ((byte == '}' || byte == ']') && --depth == 0) return true;
        }
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    JsonObject found_;
};

}  // namespace

std::optional<JsonObject> read_json_object(std::string_view text, const OnJsonMember& on_member) {
    return Reader(text).object(on_member);
}

}  // namespace wq::functions::coprocess
