// What a coprocess says: its greeting and its answers, in parts of any length, and the events of calls. Any
// bytes are read or rejected, and what becomes of them is JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "functions/coprocess/message.h"
#include "require.h"

namespace {

using namespace wq::functions::coprocess;
using wq::fuzz::require;

constexpr std::size_t most = 1000;

// Fed in parts of `step` bytes, it has read the same as at once.
LengthReader read_in_parts(std::string_view bytes, std::size_t step) {
    LengthReader reader(most);
    for (std::size_t at = 0; at < bytes.size(); at += step) reader.feed(bytes.substr(at, step));
    return reader;
}

void check_reader(std::string_view bytes, std::size_t step) {
    LengthReader whole = read_in_parts(bytes, std::max<std::size_t>(bytes.size(), 1));
    LengthReader parts = read_in_parts(bytes, step);
    require(whole.complete() == parts.complete() && whole.broken() == parts.broken() &&
                whole.too_long() == parts.too_long() && whole.words() == parts.words() &&
                whole.body() == parts.body(),
            "parts say the same");
    require(!(whole.complete() && whole.broken()) && whole.body().size() <= most, "it is sound or broken");
    if (!whole.complete()) return;
    LengthReader again = read_in_parts(with_length(whole.body(), whole.words()), step);
    require(again.complete() && again.body() == whole.body() && again.words() == whole.words(),
            "what was written reads");
}

void check_greeting(std::string_view bytes) {
    const auto greeting = greeting_in(bytes);
    if (greeting) require(greeting->port > 0 && is_function_name(greeting->name), "it can be called");
}

void check_event(std::string_view bytes) {
    wq::engine::model::CallMode mode = wq::engine::model::CallMode::fork;
    const auto event = with_mode(bytes, mode);
    if (!event) return;
    wq::engine::model::CallMode said = wq::engine::model::CallMode::direct;
    const auto again = with_mode(*event, said);
    require(again && *again == *event && said == mode, "an event names its mode");
}

void check_answer(std::string_view words, std::string_view answer) {
    wq::engine::model::Outcome outcome;
    std::string output;
    take_answer(words, std::string(answer), outcome, output);
    require(outcome.reason.size() < 600 && outcome.reason.find('\n') == std::string::npos,
            "a reason is a short line");
    if (outcome.succeeded()) return require(output == answer, "an answer stays as it is");
    const auto read = read_json_object(output, [](std::string_view, std::string_view) {});
    require(read.has_value(), "a failure is a JSON object");
    if (output != answer)
        require(nlohmann::json::parse(output)["StatusCode"] == 500, "and if it is ours, strict JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t step = 1 + data[0] % 16;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    check_reader(bytes, step);
    check_greeting(bytes);
    check_event(bytes);
    const std::size_t line = std::min(bytes.find('\n'), bytes.size());
    check_answer(bytes.substr(0, line), bytes.substr(std::min(line + 1, bytes.size())));
    for (const std::string_view words : {"", "status 200", "status 500", "signal 9", "exit 0"})
        check_answer(words, bytes);
    return 0;
}
