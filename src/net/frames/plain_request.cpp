#include "net/frames/plain_request.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "net/frames/http_request.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

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
