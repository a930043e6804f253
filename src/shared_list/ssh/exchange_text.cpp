#include "shared_list/ssh/exchange_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "shared_list/store/local_signs.h"

namespace wq::shared_list::ssh {

namespace {

// The shell reads lines byte by byte, each with a system call: longer ones go by a file.
constexpr std::size_t most_by_lines = 8192;

class Words {
  public:
    explicit Words(std::string_view text) : rest_(text) {}

    bool has_more() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
        return !rest_.empty();
    }
    std::string_view next() {
        has_more();
        const std::size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return word;
    }
    template <class Number>
    Number number() {
        return number_in<Number>(next());
    }
    template <class Number>
    Number number_in(std::string_view word) {
        Number value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size()) ok_ = false;
        return value;
    }
    bool ok() const { return ok_; }
    void expect(std::string_view word) {
        if (next() != word) ok_ = false;
    }

  private:
    std::string_view rest_;
    bool ok_ = true;
};

std::string identity_word(std::string identity) {
    std::replace(identity.begin(), identity.end(), ' ', '_');
    return identity.empty() ? "-" : identity;
}

std::uint64_t size_in(const std::string& identity) {
    const std::size_t blank = identity.find(' ');
    return blank == std::string::npos ? 0 : std::strtoull(identity.c_str() + blank, nullptr, 10);
}

std::string plan_of(const std::vector<text::Splice>& splices) {
    std::string plan;
    for (const auto& splice : splices) {
        const auto ends = std::count(splice.text.begin(), splice.text.end(), '\n');
        plan += std::to_string(splice.offset) + " " + std::to_string(splice.length) + " " +
                std::to_string(splice.text.empty() ? 0 : ends + 1) + "\n";
        if (!splice.text.empty()) plan += splice.text + "\n";
    }
    return plan;
}

std::uint64_t bytes_after(const store::Request& request) {
    std::uint64_t bytes = size_in(request.known.file);
    for (const auto& splice : request.splices) bytes += splice.text.size() - splice.length;
    return bytes;
}

// "1732605897.123456789"; another count of digits is not lost either.
Duration seconds_of(Words& words, std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    const auto seconds = words.number_in<std::int64_t>(text.substr(0, point));
    std::string fraction(text.substr(std::min(point + 1, text.size())));
    fraction.resize(9, '0');
    return std::chrono::seconds(seconds) + std::chrono::nanoseconds(words.number_in<std::int64_t>(fraction));
}

AnswerHead::Grown grown_of(Words& words) {
    const std::string_view word = words.next();
    const std::size_t point = std::min(word.find('.'), word.size());
    const std::size_t line = std::min(word.find('-'), word.size());
    AnswerHead::Grown grown;
    grown.number = words.number_in<std::uint64_t>(word.substr(0, point));
    if (line <= point || line == word.size()) return grown;
    grown.from = words.number_in<std::uint64_t>(word.substr(point + 1, line - point - 1));
    const std::size_t plus = std::min(word.find('+', line), word.size() - 1);
    grown.to = words.number_in<std::uint64_t>(word.substr(line + 1, plus - line - 1));
    grown.begun = words.number_in<std::uint64_t>(word.substr(plus + 1));
    return grown;
}

}  // namespace

std::string identity_from_word(std::string word) {
    std::replace(word.begin(), word.end(), '_', ' ');
    return word;
}

std::string exchange_request(const store::Request& request, SendFile file, const std::string& new_log) {
    const std::string& records = request.records;
    const bool by_lines = records.size() <= most_by_lines && records.ends_with('\n');
    const auto lines = by_lines ? std::count(records.begin(), records.end(), '\n') : 0;
    const std::string plan = request.rewrite ? plan_of(request.splices) : std::string{};
    std::string text =
        "exchange " + std::to_string(static_cast<int>(file)) + (request.empty() ? " 0 " : " 1 ") +
        (request.known.log.empty() ? "-" : request.known.log) + " " +
        std::to_string(request.known.log_bytes) + " " + identity_word(request.known.file) + " " + new_log +
        " " + std::to_string(lines) + " " + std::to_string(records.size()) + " " +
        (request.rewrite ? std::to_string(plan.size()) : "-") + " " +
        std::to_string(request.rewrite ? bytes_after(request) : 0) + " " + (request.new_log ? "1 " : "0 ") +
        (request.put_aside.empty() ? "-" : request.put_aside);
    for (const std::string& name : request.copied_old) text += " " + name;
    return text + "\n" + records + plan;
}

std::optional<AnswerHead> answer_head(std::string_view text) {
    Words words(text);
    words.expect("ok");
    AnswerHead head;
    head.changed = words.next() == "1";
    head.now.log = words.next();
    head.now.log_bytes = words.number<std::uint64_t>();
    head.now.file = identity_from_word(std::string(words.next()));
    head.whole_log = words.next() == "1";
    head.log_bytes = words.number<std::uint64_t>();
    const std::string_view file = words.next();
    if (file != "-") head.file_bytes = words.number_in<std::uint64_t>(file);
    head.old_files = words.number<std::size_t>();
    while (words.ok() && words.has_more()) head.old.push_back(grown_of(words));
    const bool grew = std::all_of(head.old.begin(), head.old.end(),
                                  [](const AnswerHead::Grown& one) { return one.to > one.from; });
    if (!words.ok() || !grew) return std::nullopt;
    return head;
}

std::optional<std::uint64_t> bytes_announced(std::string_view text) {
    Words words(text);
    words.expect("ok");
    const auto bytes = words.number<std::uint64_t>();
    return words.ok() ? std::optional(bytes) : std::nullopt;
}

std::optional<std::vector<store::Sign>> signs_of(std::string_view text) {
    Words words(text);
    words.expect("ok");
    std::vector<store::Sign> signs;
    if (!words.has_more()) return signs;
    words.next();  // the file that was touched just now
    const Duration now = seconds_of(words, words.next());
    words.next();
    while (words.ok() && words.has_more()) {
        store::Sign sign;
        const std::string_view name = words.next();
        sign.age = std::max(now - seconds_of(words, words.next()), Duration{0});
        sign.lease = store::lease_of_text(std::string(words.next()));
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), sign.worker);
        if (error == std::errc{} && end == name.data() + name.size()) signs.push_back(sign);
    }
    if (!words.ok()) return std::nullopt;
    return signs;
}

std::optional<store::MasterTime> time_of(std::string_view text) {
    Words words(text);
    words.expect("ok");
    store::MasterTime time;
    time.now = words.number<std::int64_t>() * micros_per_second;
    const std::string_view zone = words.next();  // "+0130"
    if (zone.size() != 5) return std::nullopt;
    const auto hours = words.number_in<std::int64_t>(zone.substr(1, 2));
    const auto minutes = words.number_in<std::int64_t>(zone.substr(3, 2));
    time.east_of_utc =
        (std::chrono::hours(hours) + std::chrono::minutes(minutes)) * (zone[0] == '-' ? -1 : 1);
    if (!words.ok()) return std::nullopt;
    return time;
}

}  // namespace wq::shared_list::ssh
