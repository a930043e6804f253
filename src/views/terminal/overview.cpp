#include "views/terminal/overview.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "views/terminal/texts.h"

namespace wq::views::terminal {

namespace {

constexpr int figure_rows = 5;
constexpr int heading_rows = 2;  // a blank one, and its text
constexpr int most_failures = 5;
constexpr int least_host_rows = 2;

// A title and its value, at a column.
void put_figure(Frame& frame, int row, int column, std::string_view title, std::string_view value,
                Colour colour = Colour::normal, int width = 16) {
    const int begin = frame.put(row, column, title, {Colour::quiet}) + 1;
    frame.put(row, begin, value, {colour, colour != Colour::quiet}, column + width - begin);
}

std::string time_left_text(const Shown& shown) {
    const RunCounts& counts = shown.moment.counts;
    if (!shown.run.is_live && !shown.state.cut) return "the run has ended";
    if (counts.submitted >= 0 && counts.done >= counts.submitted) return "all have ended";
    return shown.moment.left ? "about " + format_duration(*shown.moment.left) : "not known yet";
}

void draw_done(Frame& frame, int row, const RunCounts& counts) {
    std::string text = count_text(counts.done);
    double share = 0;
    if (counts.submitted > 0) {
        share = static_cast<double>(counts.done) / static_cast<double>(counts.submitted);
        text += " of " + count_text(counts.submitted) + ", " + fixed(100 * std::min(share, 1.0), 1) + "%";
    }
    const int column = frame.put(row, 1, "done     ", {Colour::quiet});
    const int behind = frame.put(row, column, text, {Colour::good, true}) + 2;
    const int width = frame.size().columns - behind - 1;
    frame.put(row, behind, bar(std::min(share, 1.0), std::max(width, 0), frame.glyphs()), {Colour::good});
}

void draw_figures(Frame& frame, int row, const Shown& shown) {
    const RunMoment& moment = shown.moment;
    const RunCounts& counts = moment.counts;
    draw_done(frame, row, counts);
    put_figure(frame, row + 1, 1, "failed  ", count_text(counts.failed),
               counts.failed > 0 ? Colour::bad : Colour::normal, 23);
    put_figure(frame, row + 1, 26, "running ", count_text(counts.running), Colour::busy, 23);
    put_figure(frame, row + 1, 52, "waiting", count_text(counts.waiting), Colour::normal, 27);
    put_figure(frame, row + 2, 1, "rate    ", fixed(moment.rate, moment.rate < 10 ? 2 : 0) + "/s",
               Colour::normal, 23);
    put_figure(frame, row + 2, 26, "elapsed ", format_duration(moment.elapsed), Colour::normal, 23);
    put_figure(frame, row + 2, 52, "left   ", time_left_text(shown), Colour::normal, 27);
    std::int64_t cores = 0;
    std::uint32_t workers = 0;
    for (const HostRow& host : moment.hosts) {
        cores += host.cores;
        workers += host.workers;
    }
    put_figure(frame, row + 3, 1, "cores   ",
               cores_text(moment.cores_busy) + " of " + cores_text(cores) + " busy", Colour::normal, 23);
    put_figure(frame, row + 3, 26, "workers ", count_text(workers), Colour::normal, 23);
    put_figure(frame, row + 3, 52, "hosts  ", format_count(moment.hosts.size()), Colour::normal, 27);
    if (!moment.waiting.empty()) {
        const WaitingRow& most = moment.waiting.front();
        const bool endless = most.reason == engine::model::WaitReason::program;
        put_figure(frame, row + 4, 1, "waits   ",
                   (endless ? "" : format_count(most.tasks) + " ") +
                       std::string(engine::model::meaning_of(most.reason)),
                   Colour::normal, frame.size().columns - 2);
    }
}

double busy_share(const HostRow& host) {
    return host.cores <= 0 ? 0 : static_cast<double>(host.cores_busy) / static_cast<double>(host.cores);
}

// A row for each host: its cores as a bar.
void draw_host_rows(Frame& frame, int row, const Shown& shown) {
    int name_width = 4;
    for (const HostRow& host : shown.moment.hosts)
        name_width = std::max(name_width, columns_of(host.host, frame.glyphs(), 24));
    for (const HostRow& host : shown.moment.hosts) {
        const bool knows = shown.moment.knows_hosts;
        const std::string figures =
            (knows ? cores_text(host.cores_busy) : "?") + "/" + cores_text(host.cores);
        const int begin = 1 + name_width + 2;
        const int width = std::max(frame.size().columns - begin - 14, 1);
        frame.put(row, 1, host.host.empty() ? "-" : host.host, {}, name_width);
        const std::string idle(static_cast<std::size_t>(width), '.');
        frame.put(row, begin, knows ? idle : std::string(static_cast<std::size_t>(width), '?'),
                  {Colour::quiet});
        if (knows) frame.put(row, begin, bar(busy_share(host), width, frame.glyphs()), {Colour::busy}, width);
        frame.put_right(row, frame.size().columns - 13, figures, 12);
        ++row;
    }
}

// A sign for each host, or for groups of as many hosts as are needed to fit.
void draw_host_signs(Frame& frame, int row, int rows, const Shown& shown) {
    const std::vector<HostRow>& hosts = shown.moment.hosts;
    const auto columns = static_cast<std::size_t>(std::max(frame.size().columns - 2, 1));
    const std::size_t signs = columns * static_cast<std::size_t>(std::max(rows - 1, 1));
    const std::size_t group = (hosts.size() + signs - 1) / signs;
    for (std::size_t first = 0, n = 0; first < hosts.size(); first += group, ++n) {
        HostRow sum;
        for (std::size_t at = first; at < std::min(first + group, hosts.size()); ++at) {
            sum.cores += hosts[at].cores;
            sum.cores_busy += hosts[at].cores_busy;
        }
        const std::string sign =
            shown.moment.knows_hosts ? level_glyph(busy_share(sum), frame.glyphs()) : "?";
        frame.put(row + static_cast<int>(n / columns), 1 + static_cast<int>(n % columns), sign,
                  {sum.cores_busy > 0 ? Colour::busy : Colour::quiet}, 1);
    }
    const std::string each =
        group == 1 ? "each sign is a host: " : "each sign is " + std::to_string(group) + " hosts: ";
    frame.put(row + rows - 1, 1,
              each + level_glyph(0, frame.glyphs()) + " idle, " + level_glyph(0.01, frame.glyphs()) + " to " +
                  level_glyph(1, frame.glyphs()) + " busy cores",
              {Colour::quiet});
}

void draw_failure(Frame& frame, int row, const Shown& shown, std::uint32_t place) {
    const model::RunAttempt& attempt = shown.run.attempts[place];
    frame.put(row, 1, clock_text(attempt.received), {Colour::quiet});
    frame.put(row, 11, "task " + std::to_string(attempt.task), {}, 15);
    frame.put(row, 27, ending_text(attempt), {Colour::bad}, 21);
    frame.put(row, 49, category_text(shown.run, attempt.category), {}, 12);
    frame.put(row, 62, host_text(shown.run, attempt.worker));
}

int failures_shown(const Shown& shown) {
    return static_cast<int>(std::min<std::size_t>(shown.moment.last_failed.size(), most_failures));
}

}  // namespace

int rows_of_overview(const Shown& shown) {
    const int failures = failures_shown(shown);
    return figure_rows + heading_rows +
           static_cast<int>(std::max<std::size_t>(shown.moment.hosts.size(), 1)) +
           (failures > 0 ? heading_rows + failures : 0);
}

void draw_overview(Frame& frame, int row, int rows, const Shown& shown) {
    draw_figures(frame, row, shown);
    const int failures = failures_shown(shown);
    const int below = failures > 0 ? heading_rows + failures : 0;
    const int host_rows = std::max(rows - figure_rows - heading_rows - below, least_host_rows);
    const std::size_t hosts = shown.moment.hosts.size();
    int next = row + figure_rows + 1;
    frame.put(next, 1, "Hosts: busy cores", {Colour::title, true});
    if (!shown.moment.knows_hosts)
        frame.put(next, 20, "(not recorded while tasks run; [ shows an earlier moment)", {Colour::quiet});
    ++next;
    if (hosts == 0) {
        frame.put(next++, 1, "no worker is connected", {Colour::quiet});
    } else if (hosts <= static_cast<std::size_t>(host_rows)) {
        draw_host_rows(frame, next, shown);
        next += static_cast<int>(hosts);
    } else {
        draw_host_signs(frame, next, host_rows, shown);
        next += host_rows;
    }
    if (failures == 0) return;
    frame.put(next + 1, 1, "Last failures", {Colour::title, true});
    for (int n = 0; n < failures; ++n)
        draw_failure(frame, next + heading_rows + n, shown,
                     shown.moment.last_failed[static_cast<std::size_t>(n)]);
}

}  // namespace wq::views::terminal
