#include "net/frames/http_request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>

namespace wq::net::frames {

namespace {

namespace http = boost::beast::http;

Error no_request(const std::string& why) {
    return {ExitCode::bad_input, why};
}

// Some scripts end lines with "\n" alone, as RFC 9112 and CCTools' server permit, and Boost does not.
std::string with_returns(std::string_view head) {
    std::string lines;
    lines.reserve(head.size() + 64);
    for (const char c : head) {
        if (c == '\n' && !lines.ends_with('\r')) lines += '\r';
        lines += c;
    }
    return lines;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
    std::string bytes;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned value = 0;
        const char* const digits = text.data() + at + 1;
        if (text[at] == '%' && at + 2 < text.size() &&
            std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
            bytes += static_cast<char>(value);
            at += 2;
        } else {
            bytes += text[at];
        }
    }
    return bytes;
}

Result<std::optional<HttpRequest>> read_request(std::string_view bytes, std::uint32_t most_bytes) {
    const std::size_t last_line = std::min(bytes.find("\n\n"), bytes.find("\n\r\n"));
    if (last_line == std::string_view::npos) {
        if (bytes.size() >= most_bytes) return no_request("the request is too long");
        return std::optional<HttpRequest>();
    }
    const std::string lines = with_returns(bytes.substr(0, last_line + 1)) + "\r\n";
    http::request_parser<http::empty_body> parser;
    parser.header_limit(most_bytes);
    parser.body_limit(most_bytes);
    boost::system::error_code error;
    parser.put(boost::asio::buffer(lines), error);
    if (!parser.is_header_done()) return no_request("this is no request of HTTP: " + error.message());
    const auto target = parser.get().target();
    std::string_view path(target.data(), target.size());
    if (path.starts_with("http://") || path.starts_with("https://"))  // as proxies ask
        path.remove_prefix(std::min(path.find('/', path.find("//") + 2), path.size()));
    path = path.substr(0, path.find('?'));
    const auto& head = parser.get();
    HttpRequest request{percent_decoded(path), head.method() == http::verb::head,
                        head.method() == http::verb::get};
    if (head.count(http::field::host) == 1) {
        const auto host = head[http::field::host];
        request.host.assign(host.data(), host.size());
    }
    request.needs_host = head.version() > 10;
    if (request.path.empty()) request.path = "/";
    if (!request.path.starts_with('/')) return no_request("a path begins with '/'");
    return std::optional(std::move(request));
}

}  // namespace wq::net::frames
