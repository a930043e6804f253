#include "shared_list/text/edit.h"

#include <array>
#include <utility>

#include "base/bytes.h"
#include "shared_list/text/marked_line.h"

namespace wq::shared_list::text {

namespace {

// Bytes of a field that end a line or a field, and how they are written.
constexpr std::array<std::pair<char, char>, 4> escapes{{{'\\', '\\'}, {'\t', 't'}, {'\n', 'n'}, {'\r', 'r'}}};

class Writer {
  public:
    explicit Writer(std::string& line) : line_(line) {}
    Writer& text(std::string_view field) {
        separate();
        for (const char byte : field) {
            char written = byte;
            for (const auto& [plain, name] : escapes) {
                if (plain != byte) continue;
                line_ += '\\';
                written = name;
            }
            line_ += written;
        }
        return *this;
    }
    Writer& number(std::int64_t value) { return text(std::to_string(value)); }

  private:
    void separate() {
        if (!line_.empty()) line_ += '\t';
    }
    std::string& line_;
};

class Reader {
  public:
    explicit Reader(std::string_view line) : rest_(line) {}
    bool at_end() const { return ended_ || !good_; }
    bool good() const { return good_; }
    std::string text() {
        std::string field;
        const std::size_t end = rest_.find('\t');
        std::string_view written = rest_.substr(0, end);
        if (ended_) good_ = false;
        ended_ = end == std::string_view::npos;
        rest_.remove_prefix(ended_ ? rest_.size() : end + 1);
        for (std::size_t at = 0; at < written.size(); ++at) {
            if (written[at] != '\\') {
                field += written[at];
            } else if (const char plain = unescaped(++at < written.size() ? written[at] : '\0');
                       plain != '\0') {
                field += plain;
            } else {
                good_ = false;
            }
        }
        return field;
    }
    template <class Number>
    Number number() {
        const std::string field = text();
        std::string_view rest = field;
        const auto value = take_number<Number>(rest);
        if (!value || !rest.empty()) good_ = false;
        return value.value_or(Number{});
    }

  private:
    static char unescaped(char name) {
        for (const auto& [plain, written] : escapes) {
            if (written == name) return plain;
        }
        return '\0';
    }
    std::string_view rest_;
    bool ended_ = false;
    bool good_ = true;
};

constexpr std::array<std::string_view, 4> end_words{"running", "ok", "error", "lost"};

TryEnd end_of(std::string_view word) {
    for (std::size_t at = 1; at < end_words.size(); ++at) {
        if (end_words[at] == word) return static_cast<TryEnd>(at);
    }
    return TryEnd::running;
}

void write(Writer& to, const Join& edit) {
    to.text("join").number(edit.worker).text(edit.name).text(edit.stamp);
}
void write(Writer& to, const Take& edit) {
    to.text("take").number(static_cast<std::int64_t>(edit.number)).number(edit.worker);
    to.text(edit.stamp).text(edit.searched);
}
void write(Writer& to, const End& edit) {
    to.text("end").number(static_cast<std::int64_t>(edit.number)).number(edit.worker).text(edit.begun);
    to.text(edit.stamp).text(end_words[static_cast<std::size_t>(edit.end)]).number(edit.exit_code);
    to.text(edit.command);
}
void write(Writer& to, const Append& edit) {
    to.text("append").text(edit.text).text(edit.from);
}

std::optional<Edit> read_edit(Reader& from) {
    const std::string word = from.text();
    if (word == "join") {
        Join edit;
        edit.worker = from.number<WorkerId>();
        edit.name = from.text();
        edit.stamp = from.text();
        return edit;
    }
    if (word == "take") {
        Take edit;
        edit.number = from.number<std::uint64_t>();
        edit.worker = from.number<WorkerId>();
        edit.stamp = from.text();
        edit.searched = from.text();
        return edit;
    }
    if (word == "end") {
        End edit;
        edit.number = from.number<std::uint64_t>();
        edit.worker = from.number<WorkerId>();
        edit.begun = from.text();
        edit.stamp = from.text();
        edit.end = end_of(from.text());
        edit.exit_code = from.number<int>();
        edit.command = from.text();
        if (edit.end == TryEnd::running) return std::nullopt;
        return edit;
    }
    if (word == "append") {
        Append edit;
        edit.text = from.text();
        edit.from = from.text();
        return edit;
    }
    return std::nullopt;
}

std::string checksum_of(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    const std::uint32_t sum = crc32c(bytes);
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[(sum >> shift) & 0xF];
    return text;
}

}  // namespace

std::string to_line(const Record& record) {
    std::string line;
    Writer to(line);
    to.number(static_cast<std::int64_t>(record.sequence))
        .text(record.token)
        .text(record.reread ? "reread" : "");
    for (const Edit& edit : record.edits) std::visit([&](const auto& one) { write(to, one); }, edit);
    return line + '\t' + checksum_of(line);
}

std::optional<Record> record_of(std::string_view line) {
    const std::size_t sum = line.rfind('\t');
    if (sum == std::string_view::npos || line.substr(sum + 1) != checksum_of(line.substr(0, sum)))
        return std::nullopt;
    Reader from(line.substr(0, sum));
    Record record;
    record.sequence = from.number<std::uint64_t>();
    record.token = from.text();
    record.reread = from.text() == "reread";
    while (!from.at_end()) {
        auto edit = read_edit(from);
        if (!edit) return std::nullopt;
        record.edits.push_back(std::move(*edit));
    }
    if (!from.good()) return std::nullopt;
    return record;
}

}  // namespace wq::shared_list::text
