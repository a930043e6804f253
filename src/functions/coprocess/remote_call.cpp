#include "functions/coprocess/remote_call.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/units.h"
#include "functions/coprocess/json_object.h"
#include "functions/coprocess/message.h"

namespace wq::functions::coprocess {

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
