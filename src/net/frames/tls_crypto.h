// The cryptography that does not involve TLS.
#pragma once

#include <string>
#include <string_view>

namespace wq::net::frames {

std::string hmac_sha256(std::string_view key, std::string_view text);  // 32 bytes
bool equal_in_constant_time(std::string_view a, std::string_view b);   // lengths are not secret
std::string to_hex(std::string_view bytes);

}  // namespace wq::net::frames
