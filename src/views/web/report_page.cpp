#include "views/web/report_page.h"

#include "views/web/page_data.h"

namespace wq::views::web {

namespace {

// Any name of a run as text of HTML.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            out.append("&#").append(std::to_string(static_cast<int>(c))).append(";");
        else
            out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out;
}

// In a <script>, no text may end it: in JSON, these characters occur in texts alone.
std::string for_script(const std::string& json) {
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

}  // namespace

std::string report_page(const report::ReportedRun& reported) {
    const std::string title = escaped(reported.run.title.empty() ? reported.run.path : reported.run.title);
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'unsafe-inline'; "
        "style-src 'unsafe-inline'\">\n<title>Report of ";
    out.append(title).append("</title>\n<style>\n").append(report_style);
    out.append("</style>\n</head>\n<body>\n<h1>")
        .append(title)
        .append(
            "</h1>\n<noscript>This page needs JavaScript; work_queue_report --text prints the same as "
            "text.</noscript>\n"
            "<div id=\"tabs\" role=\"tablist\" aria-label=\"parts of the report\"></div>\n<main "
            "id=\"panels\"></main>\n"
            "<script type=\"application/json\" id=\"data\">\n");
    out.append(for_script(page_data(reported).dump())).append("\n</script>\n<script>\n");
    out.append(chart_script).append("\n</script>\n<script>\n").append(report_script);
    return out.append("</script>\n</body>\n</html>\n");
}

}  // namespace wq::views::web
