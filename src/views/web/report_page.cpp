#include "views/web/report_page.h"

#include "views/web/html_text.h"
#include "views/web/page_data.h"

namespace wq::views::web {

std::string report_page(const report::ReportedRun& reported) {
    const std::string title = html_text(reported.run.title.empty() ? reported.run.path : reported.run.title);
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
        "form-action 'none'; script-src ";
    out.append(report_script_sources).append("; style-src ").append(report_style_source);
    out.append("\">\n<title>Report of ").append(title).append("</title>\n<style>").append(report_style);
    out.append("</style>\n</head>\n<body>\n<h1>")
        .append(title)
        .append(
            "</h1>\n<noscript>This page needs JavaScript; work_queue_report --text prints the same as "
            "text.</noscript>\n"
            "<div id=\"tabs\" role=\"tablist\" aria-label=\"parts of the report\"></div>\n<main "
            "id=\"panels\"></main>\n"
            "<script type=\"application/json\" id=\"data\">\n");
    out.append(script_json(page_data(reported).dump())).append("\n</script>\n<script>");
    out.append(chart_script).append("</script>\n<script>").append(report_script);
    return out.append("</script>\n</body>\n</html>\n");
}

}  // namespace wq::views::web
