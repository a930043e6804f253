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

}  // namespace wq::net::frames
