// The head of an HTTP request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wq::net::frames {

struct HttpRequest {
    std::string path{};  // decoded, with its first slash; without host and "?..."
    bool head_only = false;
    bool get = false;
    std::string host{};  // of the header; empty if there is none, or more than one
    bool needs_host = true;
};

// "a%20b" is "a b"; a '%' without two digits stays.
std::string percent_decoded(std::string_view text);

// Lines end with "\r\n", or "\n" alone. nullopt: more is needed. Error bad_input: no request, or more than
// `most_bytes`.
Result<std::optional<HttpRequest>> read_request(std::string_view bytes, std::uint32_t most_bytes);

// What a program wants that sends plain text to a manager's port in place of a handshake: a status line of
// CCTools, or an HTTP request for the same.

inline constexpr std::uint32_t most_plain_bytes = 8u << 10;

struct PlainRequest {
    enum class Is {
        unfinished,  // its first bytes could begin one
        foreign,     // these could not
        question,
        wrong,  // an HTTP request for something else, or for another host
    };
    Is is = Is::unfinished;
    bool http = false;
    std::string question{};  // "task_status", with a '/' before it by HTTP; "/": what there is
    std::string answer{};    // to a wrong one
};

// `begun`: all that has come.
PlainRequest plain_request(std::string_view begun);

std::string plain_head(std::string_view status, std::string_view type);
// Tells in a line, or as 403, why a question is not answered.
std::string plain_refusal(bool http, const std::string& why);
// The answer to "/".
std::string list_of_questions();

}  // namespace wq::net::frames
