// What a program wants that sends plain text to a manager's port in place of a handshake: a status line of
// CCTools, or an HTTP request for the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wq::net::frames {

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
