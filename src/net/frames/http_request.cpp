#include "net/frames/http_request.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <charconv>

#include "net/frames/tcp_socket.h"

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

namespace {

constexpr std::array<std::string_view, 5> questions = {"queue_status", "task_status", "worker_status",
                                                       "wable_status", "resources_status"};
constexpr std::array<std::string_view, 9> methods = {"GET ",     "HEAD ",    "POST ",  "PUT ",  "DELETE ",
                                                     "OPTIONS ", "CONNECT ", "PATCH ", "TRACE "};

std::string plain_text(std::string_view status, std::string_view text) {
    return plain_head(status, "text/plain; charset=utf-8").append(text).append("\n");
}

PlainRequest wrong(std::string_view status, std::string_view text) {
    return {PlainRequest::Is::wrong, true, {}, plain_text(status, text)};
}

std::string own_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string in_small_letters(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// Without a port.
std::string host_in(std::string_view header) {
    if (header.starts_with('[')) return std::string(header.substr(1, header.find(']') - 1));
    std::string_view host = header.substr(0, header.find(':'));
    if (host.ends_with('.')) host.remove_suffix(1);
    return in_small_letters(std::string(host));
}

// Any other name may be one that its owner has pointed at this machine, so that his page, in a browser here,
// can read the answer.
bool names_this_host(std::string_view header) {
    const std::string host = host_in(header), own = in_small_letters(own_name());
    if (host.empty()) return false;
    return host == "localhost" || host == own || host == own.substr(0, own.find('.')) || is_numeric(host);
}

PlainRequest http_question(std::string_view begun) {
    auto request = read_request(begun, most_plain_bytes);
    if (!request) return wrong("400 Bad Request", request.error().message);
    if (!*request) return {PlainRequest::Is::unfinished, true, {}, {}};
    if (!(*request)->get) return wrong("405 Method Not Allowed", "there is only GET");
    const std::string& host = (*request)->host;
    if ((host.empty() && (*request)->needs_host) || (!host.empty() && !names_this_host(host)))
        return wrong("403 Forbidden",
                     "this is work_queue: ask by an address of this host, or by its name: " + own_name());
    std::string& path = (*request)->path;
    if (path != "/" && std::find(questions.begin(), questions.end(), path.substr(1)) == questions.end())
        return wrong("404 Not Found", "there is no such page; / lists those that are there");
    return {PlainRequest::Is::question, true, std::move(path), {}};
}

}  // namespace

PlainRequest plain_request(std::string_view begun) {
    using Is = PlainRequest::Is;
    for (const std::string_view method : methods) {
        if (begun.starts_with(method)) return http_question(begun);
        if (method.starts_with(begun)) return {};
    }
    for (const std::string_view question : questions) {
        if (question.starts_with(begun)) return {};
        if (!begun.starts_with(question)) continue;
        const std::string_view rest = begun.substr(question.size());
        if (rest == "\r") return {};
        if (rest.starts_with("\n") || rest.starts_with("\r\n"))
            return {Is::question, false, std::string(question), {}};
    }
    return {Is::foreign, false, {}, {}};
}

std::string plain_head(std::string_view status, std::string_view type) {
    std::string head = "HTTP/1.1 ";
    head.append(status).append("\r\nConnection: close\r\nCache-Control: no-store\r\n");
    head.append("X-Content-Type-Options: nosniff\r\nContent-Type: ").append(type).append("\r\n\r\n");
    return head;
}

std::string plain_refusal(bool http, const std::string& why) {
    return http ? plain_text("403 Forbidden", why) : why + "\n";
}

std::string list_of_questions() {
    std::string page = plain_head("200 OK", "text/html; charset=utf-8");
    page += "<!DOCTYPE html>\n<html><head><title>work_queue</title></head><body>\n<ul>\n";
    for (const std::string_view question : questions)
        page.append("<li><a href=\"/").append(question).append("\">").append(question).append("</a></li>\n");
    return page + "</ul>\n</body></html>\n";
}

}  // namespace wq::net::frames
