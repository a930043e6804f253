// The request of a query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wq::catalog_server {

inline constexpr std::size_t most_request_bytes = 16 << 10;

struct HttpRequest {
    std::string path;  // decoded, with its first slash; without host and "?..."
    bool head_only = false;
};

// nullopt: more is needed. Error bad_input: no request, or more than most_request_bytes.
Result<std::optional<HttpRequest>> read_request(std::string_view bytes);

}  // namespace wq::catalog_server
