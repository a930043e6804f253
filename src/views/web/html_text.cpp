#include "views/web/html_text.h"

namespace wq::views::web {

std::string html_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            out.append("&#").append(std::to_string(static_cast<int>(c))).append(";");
        else
            out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out;
}

std::string script_json(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (const char c : json) {
        if (c == '<' || c == '>' || c == '&')
            out.append("\\u00").append(c == '<' ? "3c" : c == '>' ? "3e" : "26");
        else
            out += c;
    }
    return out;
}

}  // namespace wq::views::web
