#include "functions/coprocess/message.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/units.h"

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

namespace {

constexpr const char* mode_key = "remote_task_exec_method";
constexpr std::size_t longest_reason = 500;
constexpr std::size_t longest_text_read = 8u << 20;

Error no_event(const std::string& why) {
    return {ExitCode::bad_input, "the event of a remote task " + why};
}

// "signal 11": the number after the word.
std::optional<int> number_after(std::string_view words, std::string_view word) {
    if (!words.starts_with(word)) return std::nullopt;
    words.remove_prefix(word.size());
    int number = 0;
    const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), number);
    if (error != std::errc() || end != words.data() + words.size()) return std::nullopt;
    return number;
}

std::string in_quotes(std::string_view text) {
    return '"' + std::string(text) + '"';
}

std::string in_one_line(std::string text) {
    if (text.size() > longest_reason) text = text.substr(0, longest_reason) + "...";
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

// Of a value that stands in an answer. A reason is short: no more than its beginning is looked at.
std::string text_of(std::string_view value) {
    if (value.starts_with('"') && value.size() <= longest_text_read) {
        const Json text = Json::parse(value);
        if (text.is_string()) return text.text();
    }
    return std::string(value.substr(0, 2 * longest_reason));
}

}  // namespace

std::string_view name_of(engine::model::CallMode mode) {
    switch (mode) {
        case engine::model::CallMode::direct:
            return "direct";
        case engine::model::CallMode::thread:
            return "thread";
        default:
            return "fork";
    }
}

bool is_function_name(std::string_view name) {
    return !name.empty() && name.size() <= longest_name &&
           std::none_of(name.begin(), name.end(), [](char c) { return c <= ' ' && c >= 0; });
}

Result<std::string> with_mode(std::string_view event, engine::model::CallMode& mode) {
    std::string_view said;
    const auto object = read_json_object(event, [&](std::string_view key, std::string_view value) {
        if (key == mode_key) said = value;
    });
    if (!object) return no_event("is no JSON object");
    if (!said.empty() && said != "null") {
        using engine::model::CallMode;
        for (const CallMode known : {CallMode::fork, CallMode::thread, CallMode::direct})
            if (said == in_quotes(name_of(known))) {
                mode = known;
                return std::string(event);
            }
        return no_event("has an unknown remote_task_exec_method: give direct, thread or fork");
    }
    // As the last member, because the last of several with the same name counts.
    std::string text(event.substr(0, object->end));
    if (!object->empty) text += ',';
    text += in_quotes(mode_key) + ":" + in_quotes(name_of(mode));
    text += event.substr(object->end);
    return text;
}

Result<Greeting> greeting_in(std::string_view text) {
    const Json json = Json::parse(text);
    const auto bad = [](const std::string& why) {
        return Error{ExitCode::bad_input, "its first output does not name it: " + why};
    };
    if (!json.is_object()) return bad("it is no JSON object");
    const Json* const name = json.find("name");
    const Json* const port = json.find("port");
    if (name == nullptr || !name->is_string() || !is_function_name(name->text()))
        return bad("its name must have 1 to 200 bytes and no blank");
    const std::int64_t number = port != nullptr && port->is_number_integer() ? port->integer() : 0;
    if (number < 1 || number > UINT16_MAX) return bad("its port is not a number from 1 to 65535");
    const Json* const guarded = json.find("guarded");
    return Greeting{name->text(), static_cast<std::uint16_t>(number), guarded != nullptr && *guarded == true};
}

void take_answer(std::string_view words, std::string answer, engine::model::Outcome& outcome,
                 std::string& output) {
    output = std::move(answer);
    outcome.ending = engine::model::Ending::exited;
    outcome.exit_code = 0;
    if (words == returned_words) return;
    std::string_view result, status;
    const bool sound = read_json_object(output,
                                        [&](std::string_view key, std::string_view value) {
                                            if (key == "Result") result = value;
                                            if (key == "StatusCode") status = value;
                                        }) &&
                       !result.empty() && !status.empty();
    if (words.empty() && sound && status == "200") return;
    outcome.ending = engine::model::Ending::raised;
    outcome.exit_code = 1;
    if (const auto signal = number_after(words, "signal ")) {
        outcome.ending = engine::model::Ending::signalled;
        outcome.exit_code = 0;
        outcome.signal = *signal;
        outcome.reason = "the function ended its process";
    } else if (const auto code = number_after(words, "exit ")) {
        outcome.exit_code = *code == 0 ? 1 : *code;
        outcome.reason =
            "its process ended with exit " + std::to_string(*code) + " before the function returned";
    } else {
        outcome.reason =
            sound ? text_of(result) : "its coprocess did not answer as it should: " + output.substr(0, 100);
    }
    outcome.reason = in_one_line(outcome.reason);
    if (!sound) output = failure_text(outcome.reason);
}

std::string failure_text(std::string_view reason) {
    return Json{{"Result", reason}, {"StatusCode", 500}}.dump();
}

}  // namespace wq::functions::coprocess
