#include "functions/coprocess/message.h"

#include <algorithm>
#include <charconv>

namespace wq::functions::coprocess {

namespace {

constexpr std::size_t longest_line = 128;

}  // namespace

void LengthReader::feed(std::string_view bytes) {
    if (!has_length_ && !broken_) {
        const std::size_t end = bytes.find('\n');
        line_.append(bytes.substr(0, std::min(end, longest_line + 1)));
        broken_ = line_.size() > longest_line;
        if (broken_ || end == std::string_view::npos) return;
        bytes.remove_prefix(end + 1);
        read_line();
    }
    if (!broken_) body_.append(bytes.substr(0, length_ - body_.size()));
}

void LengthReader::read_line() {
    const char* const last = line_.data() + line_.size();
    const auto [end, error] = std::from_chars(line_.data(), last, length_);
    const bool number = error != std::errc::invalid_argument && (end == last || *end == ' ' || *end == '\r');
    too_long_ = number && (error == std::errc::result_out_of_range || length_ > most_);
    broken_ = !number || too_long_;
    has_length_ = !broken_;
    if (broken_) return;
    words_.assign(end, last);
    words_.erase(0, words_.find_first_not_of(" \r"));
    while (!words_.empty() && words_.back() == '\r') words_.pop_back();
}

std::string call_line(std::string_view function, std::uint64_t task, std::size_t length) {
    return std::string(function) + " " + std::to_string(task) + " " + std::to_string(length) + "\n";
}

std::string with_length(std::string_view body, std::string_view words) {
    std::string text = std::to_string(body.size());
    if (!words.empty()) text += " " + std::string(words);
    text += "\n";
    text += body;
    return text;
}

}  // namespace wq::functions::coprocess
