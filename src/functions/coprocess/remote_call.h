// A call of a coprocess' function, and what its answer means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/model/outcome.h"

namespace wq::functions::coprocess {

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
