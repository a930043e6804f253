// The messages between a worker and its coprocess, as CCTools' coprocesses have them.
//
// A coprocess first writes its greeting to stdout: a JSON object with its name and the port on 127.0.0.1
// where it takes calls, `<length>\n{"name": "...", "port": 40112}`. For each call the
// worker opens a connection and sends `<function> <task id> <length>\n<event>`, the coprocess answers
// `<length>\n<JSON>`. The length counts bytes. The event is a JSON object with fn_args, fn_kwargs and
// remote_task_exec_method; the answer one with Result and StatusCode (200 or 500). The coprocess runs the
// function in the folder `t.<task id>` of its own.
//
// Ours add to that: the greeting has "guarded": true, and then each connection begins with a line, the secret
// that the coprocess found in its environment, so that it serves nobody else. The first line of an answer
// says how the call ended, so that nobody has to read the JSON for that: ` status 200` or ` status 500`, or
// ` signal N` or ` exit N` if the function ended its process (of `fork`). When the worker closes its side
// before the answer, the coprocess kills the process of `fork`, and closes the connection.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/model/outcome.h"

namespace wq::functions::coprocess {

inline constexpr const char* secret_variable = "WORK_QUEUE_COPROCESS_SECRET";
inline constexpr std::string_view returned_words = "status 200";  // of an answer
inline constexpr std::string_view failed_words = "status 500";

// Reads `<length>[ <words>]\n<body>` from bytes that arrive in parts.
class LengthReader {
  public:
    explicit LengthReader(std::size_t most) : most_(most) {}

    // Takes what belongs to the text; what follows is dropped.
    void feed(std::string_view bytes);
    bool complete() const { return has_length_ && body_.size() == length_; }
    bool broken() const { return broken_; }  // no length, or more than `most`
    bool too_long() const { return too_long_; }
    const std::string& words() const { return words_; }  // of the first line, after the length
    std::string& body() { return body_; }

  private:
    void read_line();

    std::size_t most_;
    std::string line_;
    std::string words_;
    std::string body_;
    std::size_t length_ = 0;
    bool has_length_ = false;
    bool broken_ = false;
    bool too_long_ = false;
};

// Whether a descriptor that does not block will be ready later.
inline bool would_block(int error) {
    return error == EAGAIN || error == EINTR || error == EINPROGRESS;
}

// The first line of a call, with the line end.
std::string call_line(std::string_view function, std::uint64_t task, std::size_t length);
// `<length>[ <words>]\n<body>`
std::string with_length(std::string_view body, std::string_view words = {});

// Finds the members of a JSON object in its text, without reading what is in them. A JSON library would build
// a value of each argument and result, refuse those of Python that are no strict JSON (NaN, Infinity, lone
// surrogates), and use stack for each level of nesting.
struct JsonObject {
    std::size_t end = 0;    // of its members: where the last `}` is
    std::size_t depth = 1;  // of nested objects and arrays, with itself
    bool empty = true;
};

// The text of a member's value as it stands there; the key without quotes, its escapes as they stand there.
using OnJsonMember = std::function<void(std::string_view key, std::string_view value)>;

// nullopt: the text is no object. Values may contain anything, as long as their quotes and brackets end.
std::optional<JsonObject> read_json_object(std::string_view text, const OnJsonMember& on_member);

// A call of a coprocess' function, and what its answer means.
struct RemoteOrder {
    TaskId task;
    Attempt attempt = 1;
    std::string function;
    std::string event;  // a JSON object
    engine::model::CallMode mode = engine::model::CallMode::fork;
    Duration timeout{0};         // 0: none
    std::int64_t memory_mb = 0;  // limit of the coprocess meanwhile; 0: its share alone
    std::string sandbox;         // folder with the task's files; empty: it has none
};

// How an event names the mode.
std::string_view name_of(engine::model::CallMode mode);

// Whether the name can be that of a function: the first line of a call is divided by blanks.
bool is_function_name(std::string_view name);

// The event with its mode. If the event names a mode already, this one counts, and `mode` is set to it.
// Error: the event is no JSON object, or the mode is unknown. It does not look into other members.
Result<std::string> with_mode(std::string_view event, engine::model::CallMode& mode);

// What a coprocess says of itself.
struct Greeting {
    std::string name;
    std::uint16_t port = 0;
    bool guarded = false;
};
Result<Greeting> greeting_in(std::string_view json);
inline constexpr std::size_t longest_name = 200;

// Sets how the call ended, from the `words` of the answer. If there are none, as from CCTools' coprocesses,
// the answer's StatusCode says it: 200 or an exception. `output` becomes the answer; if that is no JSON
// object with Result and StatusCode, one that says so. The answer of a function that returned stays as it is.
void take_answer(std::string_view words, std::string answer, engine::model::Outcome& outcome,
                 std::string& output);

// {"Result": reason, "StatusCode": 500}
std::string failure_text(std::string_view reason);

}  // namespace wq::functions::coprocess
