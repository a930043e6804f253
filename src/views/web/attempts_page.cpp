#include "views/web/attempts_page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "records/journal/append_file.h"
#include "views/plot_figures.h"
#include "views/web/columns.h"
#include "views/web/html_text.h"

namespace wq::views::web {

namespace {

std::string number(std::uint64_t value) {
    std::string digits, grouped;
    records::journal::put_number(digits, value);
    for (std::size_t at = 0; at < digits.size(); ++at) {
        if (at > 0 && (digits.size() - at) % 3 == 0) grouped += ',';
        grouped += digits[at];
    }
    return grouped;
}

// In a <script>, no text may end it.
std::string json(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ' || c == '<' || c == '>' || c == '&') {
            constexpr std::string_view hex = "0123456789abcdef";
            out.append("\\u00").append({hex[byte >> 4], hex[byte & 15]});
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

template <class Row, class Value>
void put_column(std::string& out, std::string_view name, const std::vector<Row>& rows, Value value) {
    NumberColumn column;
    for (const Row& row : rows) column.add(static_cast<std::int64_t>(value(row)));
    out += out.back() == '{' ? "\"" : ",\"";
    out.append(name).append("\":\"").append(column.base64()).append("\"");
}

template <class Row, class Text>
void put_list(std::string& out, const std::vector<Row>& rows, Text text) {
    out += '[';
    for (std::size_t i = 0; i < rows.size(); ++i) out.append(i == 0 ? "" : ",").append(text(i));
    out += ']';
}

// Microseconds that one unit of time in the page has: a power of ten, with which any time has at most 8
// digits.
std::int64_t tick_of(const Attempts& all) {
    std::int64_t tick = 1;
    while ((all.end - all.begin) / tick > 100'000'000) tick *= 10;
    return tick;
}

// The place of the outcome of those that succeeded; none: one past the last.
std::ptrdiff_t good_of(const Attempts& all) {
    return std::find(all.outcomes.begin(), all.outcomes.end(), succeeded) - all.outcomes.begin();
}

std::string data_of(const Attempts& all, RowOrder shown_first) {
    const std::int64_t tick = tick_of(all);
    const auto since_begin = [&](WallMicros time) { return (time - all.begin) / tick; };
    std::string out = "{\"tick\":" + std::to_string(tick) +
                      ",\"end\":" + std::to_string(since_begin(all.end)) + ",\"order\":\"" +
                      static_cast<char>(shown_first) + "\",\"working\":\"" + blue +
                      "\",\"good\":" + std::to_string(good_of(all)) + ",\n\"categories\":";
    put_list(out, all.categories, [&](std::size_t i) {
        return "{\"name\":" + json(all.categories[i]) + ",\"color\":\"" + category_color(i) + "\"}";
    });
    out += ",\n\"outcomes\":";
    put_list(out, all.outcomes, [&](std::size_t i) { return json(all.outcomes[i]); });
    out += ",\n\"workers\":{\"names\":";
    put_list(out, all.workers, [&](std::size_t i) { return json(all.workers[i].name); });
    out += ",\n\"columns\":{";
    put_column(out, "joined", all.workers, [&](const WorkerStay& one) { return since_begin(one.joined); });
    put_column(out, "left", all.workers, [&](const WorkerStay& one) { return since_begin(one.left); });
    put_column(out, "slots", all.workers, [](const WorkerStay& one) { return one.slots; });
    out += "}},\n\"attempts\":{\"count\":" + std::to_string(all.attempts.size()) + ",\"columns\":{";
    const auto column = [&](std::string_view name, auto value) {
        put_column(out, name, all.attempts, value);
    };
    const auto ticks = [&](WallMicros from, WallMicros to) { return since_begin(to) - since_begin(from); };
    column("task", [](const Attempt& one) { return one.task; });
    column("calls", [](const Attempt& one) { return one.calls - 1; });
    column("category", [](const Attempt& one) { return one.category; });
    column("worker", [](const Attempt& one) { return one.worker; });
    column("slot", [](const Attempt& one) { return one.slot; });
    column("outcome", [](const Attempt& one) { return one.outcome; });
    column("input", [&](const Attempt& one) { return since_begin(one.input); });
    column("waited", [&](const Attempt& one) { return ticks(one.waiting, one.input); });
    column("sending", [&](const Attempt& one) { return ticks(one.input, one.started); });
    column("ran", [&](const Attempt& one) { return ticks(one.started, one.output); });
    column("receiving", [&](const Attempt& one) { return ticks(one.output, one.ended); });
    return out + "}}}\n";
}

// Also what those read whose browser runs no script.
std::string summary(const Attempts& all) {
    const auto counted = [](std::uint64_t count, const char* what) {
        return number(count) + " " + what + (count == 1 ? "" : "s");
    };
    std::string out = "<p>" + counted(all.attempts.size(), "attempt");
    const auto bad = std::count_if(all.attempts.begin(), all.attempts.end(), [&](const Attempt& one) {
        return static_cast<std::ptrdiff_t>(one.outcome) != good_of(all);
    });
    if (bad > 0)
        out += ", <label><input type=\"checkbox\" id=\"only-bad\"> only the " +
               number(static_cast<std::uint64_t>(bad)) + " that did not succeed</label>";
    if (all.never_ran > 0) out += "; " + counted(all.never_ran, "task") + " never ran";
    return out + "; " + counted(all.workers.size(), "worker") + "</p>\n";
}

std::string legend(const Attempts& all) {
    std::vector<std::uint64_t> counts(all.categories.size());
    for (const Attempt& attempt : all.attempts) counts[attempt.category] += attempt.calls;
    std::string out = "<div id=\"legend\">\n";
    for (std::size_t i = 0; i < all.categories.size(); ++i)
        out += "<label><input type=\"checkbox\" checked><span class=\"box\" style=\"background:" +
               category_color(i) + "\"></span>" + html_text(all.categories[i]) + " <span class=\"faint\">" +
               number(counts[i]) + "</span></label>\n";
    return out + "</div>\n";
}

}  // namespace

std::string attempts_page(const Attempts& all, const std::string& title, RowOrder shown_first) {
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
        "form-action 'none'; style-src 'unsafe-inline'; script-src ";
    out += std::string(attempts_script_source) + "\">\n<title>Workers of " + html_text(title) +
           "</title>\n<style>\n" + std::string(attempts_style) + "</style>\n</head>\n<body>\n<h1>" +
           html_text(title) + "</h1>\n" + summary(all);
    out +=
        "<nav>\n<span><button data-order=\"g\">Attempts</button><button data-order=\"t\">Slots of "
        "workers</button>"
        "<button data-order=\"w\">Workers</button></span>\n"
        "<span><button id=\"in\" aria-label=\"zoom in\">+</button><button id=\"out\" aria-label=\"zoom out\">"
        "\xE2\x88\x92</button><button id=\"all\">Show all</button></span>\n</nav>\n"
        "<canvas id=\"timeline\" tabindex=\"0\" role=\"img\" aria-describedby=\"info\" "
        "aria-label=\"bars of attempts over time\"></canvas>\n"
        "<noscript>The bars need JavaScript.</noscript>\n"
        "<p id=\"info\" aria-live=\"polite\">Point at a bar to read about it. Wheel, pinch or + and "
        "\xE2\x88\x92 zoom, "
        "dragging or arrow keys move, 0 shows all, n and p read the next and the previous bar.</p>\n";
    out += "<p class=\"faint\" data-only=\"w\"><span class=\"box\" style=\"background:" + std::string(blue) +
           "\"></span> working <span class=\"box idle\"></span> idle</p>\n"
           "<p class=\"faint\" data-only=\"t\"><span class=\"box idle\"></span> connected; of each bar, the "
           "light part "
           "is the input of files, the dark part their output</p>\n";
    out += legend(all);
    out += "<script type=\"application/json\" id=\"data\">\n" + data_of(all, shown_first) +
           "</script>\n<script>" + std::string(attempts_script) + "</script>\n</body>\n</html>\n";
    return out;
}

}  // namespace wq::views::web
