#include "views/terminal/pages.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "views/terminal/open_task.h"
#include "views/terminal/overview.h"
#include "views/terminal/page_tables.h"
#include "views/terminal/table.h"
#include "views/terminal/texts.h"

namespace wq::views::terminal {

namespace {

constexpr int head_rows = 3;     // title, pages, remarks
constexpr int key_rows = 1;      // the last
constexpr int account_rows = 7;  // below the account's table
constexpr int content_row = head_rows;

int content_rows(Size size) {
    return size.rows - head_rows - key_rows;
}

int table_rows(Page page, Size size) {
    return content_rows(size) - (page == Page::account ? account_rows : 0);
}

// ---- head and foot ----

Duration age_of(const Shown& shown) {
    return std::chrono::microseconds(std::max<WallMicros>(shown.now - shown.moment.at, 0));
}

std::string state_text(const Shown& shown) {
    const model::RunView& run = shown.run;
    if (!run.is_live) return "ended " + date_text(run.end);
    if (shown.state.cut) return "live";
    const auto age = std::chrono::floor<std::chrono::seconds>(age_of(shown));
    return "live, figures " +
           (age < std::chrono::minutes(1) ? std::to_string(age.count()) + "s" : format_duration(age)) +
           " old";
}

void draw_title(Frame& frame, const Shown& shown) {
    const int columns = frame.size().columns;
    const Style style{Colour::title, true, true};
    frame.set_style(0, 0, columns, style);
    const std::string state = state_text(shown);
    const std::string clock = clock_text(shown.now);
    const int right = columns - static_cast<int>(clock.size()) - 1;
    frame.put(0, right, clock, style);
    const int state_column = right - columns_of(state, frame.glyphs()) - 2;
    frame.put(0, state_column, state, style);
    std::string title = shown.run.title.empty() ? "a run" : shown.run.title;
    // As long as it may be, the rest is in view.
    const int most = state_column - 3;
    int column = frame.put(0, 1, title, style, most);
    if (!shown.run.host.empty()) frame.put(0, column, " on " + shown.run.host, style, most - column);
}

void draw_pages(Frame& frame, const Shown& shown) {
    int column = 1;
    for (const Page page : pages) {
        const std::string text = " " + std::to_string(static_cast<int>(page) + 1) + " " + name_of(page) + " ";
        const bool is_current = page == shown.state.page;
        column = frame.put(1, column, text, {Colour::normal, is_current, is_current}) + 1;
    }
}

// What is unusual about the picture.
std::vector<TextLine> remarks_of(const Shown& shown) {
    const WatchState& state = shown.state;
    std::vector<TextLine> remarks;
    if (shown.silence.since != 0)
        remarks.push_back(
            {"not answering since " + clock_text(shown.silence.since) + ": " + shown.silence.why,
             {Colour::bad, true}});
    if (!state.notice.empty()) remarks.push_back({state.notice, {Colour::warning, true}});
    if (state.frozen) remarks.push_back({"frozen (p goes on)", {Colour::warning, true}});
    if (state.cut)
        remarks.push_back({"as of " + date_text(*state.cut) + ", " +
                               format_duration(std::chrono::microseconds(
                                   std::max<WallMicros>(shown.run.end - *state.cut, 0))) +
                               " before the last figures",
                           {Colour::warning, true}});
    if (state.page == Page::tasks && state.task_state)
        remarks.push_back({std::string("only ") + name_of(*state.task_state), {Colour::title, true}});
    if (state.typing || !state.words().empty())
        remarks.push_back({"/" + state.words() + (state.typing ? "_" : ""), {Colour::title, true}});
    return remarks;
}

void draw_remarks(Frame& frame, const Shown& shown) {
    int column = 1;
    for (const TextLine& remark : remarks_of(shown)) {
        column = frame.put(2, column, remark.text, remark.style) + 2;
        if (column >= frame.size().columns) break;
    }
}

std::string place_text(const Shown& shown, std::size_t visible) {
    const std::size_t rows = shown.order.size();
    if (shown.state.page == Page::overview || shown.state.opened || rows <= visible) return {};
    return format_count(shown.state.table().selected + 1) + " of " + format_count(rows) + " ";
}

const char* keys_of(const WatchState& state) {
    if (state.typing) return "type words; Enter keeps them, Esc takes them back";
    if (state.help) return "? or Esc: back   q quit";
    if (state.opened) return "Esc back  arrows scroll  [ ] time  p freeze  ? help  q quit";
    switch (state.page) {
        case Page::overview:
            return "1-6 pages  [ ] time  p freeze  ? help  q quit";
        case Page::tasks:
            return "Enter open  / find  s state  o r sort  w CSV  [ ] time  ? help  q quit";
        case Page::workers:
            return "Enter tasks  / find  o r sort  w CSV  [ ] time  ? help  q quit";
        case Page::failures:
            return "Enter open the last  / find  w CSV  [ ] time  ? help  q quit";
        case Page::waiting:
            return "/ find  w CSV  [ ] time  p freeze  ? help  q quit";
        case Page::account:
            break;
    }
    return "w CSV  p freeze  ? help  q quit";
}

void draw_keys(Frame& frame, const Shown& shown, std::size_t visible) {
    const int row = frame.size().rows - 1;
    frame.put(row, 1, keys_of(shown.state), {Colour::quiet});
    const std::string place = place_text(shown, visible);
    if (!place.empty())
        frame.put(row, frame.size().columns - columns_of(place, frame.glyphs()) - 1, " " + place,
                  {Colour::title});
}

// ---- contents ----

constexpr std::array help_lines{
    "1 to 6, Tab, left, right   another page",
    "up, down, PgUp, PgDn,      move in a table or an open task",
    "Home, End",
    "Enter                      open a task; on a worker: tasks of its host",
    "Esc                        back from a task, from words, from an earlier moment",
    "/                          find: show only rows that contain all words;",
    "                           category=WORD, host=WORD and state=WORD say where",
    "s                          only running, retried, failed or succeeded tasks",
    "o, r                       sort by the next column; reverse the order",
    "[ and ]                    go back and forth in the run's time, by 1 % of it",
    "p                          freeze the picture, and go on",
    "w                          write all rows to a CSV file in the current folder",
    "?                          this help",
    "q                          quit; the run goes on",
};

void draw_lines(Frame& frame, int rows, std::span<const TextLine> lines) {
    for (int n = 0; n < std::min(rows, static_cast<int>(lines.size())); ++n)
        frame.put(content_row + n, 1, lines[static_cast<std::size_t>(n)].text,
                  lines[static_cast<std::size_t>(n)].style);
}

void draw_open_task(Frame& frame, const Shown& shown) {
    const std::vector<TextLine> lines = lines_of_task(shown.run, shown.moment, *shown.state.opened);
    const std::size_t first = std::min(shown.state.opened_first, lines.size());
    draw_lines(frame, content_rows(frame.size()), std::span(lines).subspan(first));
}

void draw_below_account(Frame& frame, const Shown& shown) {
    const model::Account& account = shown.account;
    int row = content_row + table_rows(Page::account, frame.size());
    if (const std::size_t selected = shown.state.table().selected; selected < shown.order.size()) {
        const auto line = static_cast<model::AccountLine>(shown.order[selected]);
        frame.put(row, 1, model::title_of(line) + std::string(": ") + model::meaning_of(line));
    }
    row += 2;
    std::string sums = "offered " + core_time_text(account.offered) + " of core time, all of the run";
    if (account.not_offered > 0)
        sums += "; not offered " + core_time_text(account.not_offered) + " of the allocations";
    if (account.above_allocation > 0)
        sums += "; used above allocation " + core_time_text(account.above_allocation);
    frame.put(row++, 1, sums, {Colour::title});
    for (const std::string& lack : shown.run.lacks) {
        if (row >= frame.size().rows - key_rows) break;
        frame.put(row++, 1, lack, {Colour::warning});
    }
}

std::size_t draw_content(Frame& frame, const Shown& shown) {
    const Size size = frame.size();
    if (shown.state.help) {
        for (int n = 0; n < static_cast<int>(help_lines.size()); ++n)
            frame.put(content_row + n, 1, help_lines[static_cast<std::size_t>(n)]);
        return 0;
    }
    if (shown.state.opened) {
        draw_open_task(frame, shown);
        return 0;
    }
    if (shown.state.page == Page::overview) {
        draw_overview(frame, content_row, content_rows(size), shown);
        return 0;
    }
    const TableArea area{content_row, table_rows(shown.state.page, size)};
    const std::size_t formatted =
        draw_table(frame, area, table_of(shown, frame.glyphs()), shown.state.table());
    if (shown.state.page == Page::account) draw_below_account(frame, shown);
    return formatted;
}

}  // namespace

std::size_t visible_rows(const WatchState& state, Size size) {
    const int rows = state.opened ? content_rows(size) : table_rows(state.page, size) - 1;
    return static_cast<std::size_t>(std::max(rows, 1));
}

Drawn draw_page(const Shown& shown, Size size, Glyphs glyphs) {
    Drawn drawn{Frame(size, glyphs)};
    if (size.columns < smallest_screen.columns || size.rows < smallest_screen.rows) {
        drawn.frame.put(0, 0,
                        "The screen has " + std::to_string(size.columns) + " columns and " +
                            std::to_string(size.rows) + " rows;");
        drawn.frame.put(1, 0, "80 and 24 are needed. q quits.");
        return drawn;
    }
    draw_title(drawn.frame, shown);
    draw_pages(drawn.frame, shown);
    draw_remarks(drawn.frame, shown);
    drawn.formatted = draw_content(drawn.frame, shown);
    draw_keys(drawn.frame, shown, visible_rows(shown.state, size));
    return drawn;
}

std::string overview_text(const Shown& shown, int columns, Glyphs glyphs) {
    const int rows = rows_of_overview(shown);
    Frame frame({std::max(columns, smallest_screen.columns), rows + 1}, glyphs);
    draw_title(frame, shown);
    draw_overview(frame, 1, rows, shown);
    return frame.plain();
}

}  // namespace wq::views::terminal
