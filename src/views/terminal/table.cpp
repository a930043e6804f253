#include "views/terminal/table.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "views/model/csv_text.h"

namespace wq::views::terminal {

namespace {

constexpr int gap = 2;  // columns between two columns of a table

// Widths that fill the frame; columns that do not fit have none.
std::vector<int> widths_of(const Table& table, int frame_columns) {
    std::vector<int> widths;
    int used = 1;
    for (const TableColumn& column : table.columns) {
        if (used + column.width > frame_columns) break;
        widths.push_back(column.width);
        used += column.width + gap;
    }
    const int left = std::max(frame_columns - used + gap, 0);
    const auto is_growing = [&](std::size_t n) { return table.columns[n].grows; };
    int growing = 0;
    for (std::size_t n = 0; n < widths.size(); ++n) growing += is_growing(n) ? 1 : 0;
    for (std::size_t n = 0, nth = 0; n < widths.size(); ++n) {
        if (!is_growing(n)) continue;
        // The last takes the remainder.
        widths[n] +=
            static_cast<int>(++nth) == growing ? left - left / growing * (growing - 1) : left / growing;
    }
    return widths;
}

void put_cell(Frame& frame, int row, int column, std::string_view text, int width, bool is_right,
              Style style) {
    if (is_right)
        frame.put_right(row, column, text, width, style);
    else
        frame.put(row, column, text, style, width);
}

void draw_header(Frame& frame, int row, const Table& table, const TableState& state,
                 const std::vector<int>& widths) {
    int column = 1;
    for (std::size_t n = 0; n < widths.size(); ++n) {
        std::string title = table.columns[n].title;
        if (table.is_sorted && n == state.sort_column) {
            const bool fine = frame.glyphs() == Glyphs::utf8;
            title += state.descending ? (fine ? "▾" : "-") : (fine ? "▴" : "+");
        }
        put_cell(frame, row, column, title, widths[n], table.columns[n].is_right, {Colour::quiet, true});
        column += widths[n] + gap;
    }
}

}  // namespace

std::size_t draw_table(Frame& frame, const TableArea& area, const Table& table, const TableState& state) {
    const std::vector<int> widths = widths_of(table, frame.size().columns);
    draw_header(frame, area.row, table, state, widths);
    if (table.rows == 0) frame.put(area.row + 1, 1, table.if_empty, {Colour::quiet});
    const std::size_t end = std::min(table.rows, state.first + area.visible());
    std::size_t formatted = 0;
    for (std::size_t place = state.first; place < end; ++place, ++formatted) {
        const int row = area.row + 1 + static_cast<int>(place - state.first);
        const std::vector<TableCell> cells = table.row(place);
        int column = 1;
        for (std::size_t n = 0; n < std::min(widths.size(), cells.size()); ++n) {
            put_cell(frame, row, column, cells[n].text, widths[n], table.columns[n].is_right,
                     {cells[n].colour});
            column += widths[n] + gap;
        }
        if (place == state.selected)
            frame.set_style(row, 0, frame.size().columns, {Colour::normal, false, true});
    }
    return formatted;
}

std::string csv_of(const Table& table) {
    std::string text;
    const auto add_line = [&](const auto& field_of) {
        std::string line;
        for (std::size_t n = 0; n < table.columns.size(); ++n)
            if (!table.columns[n].title.empty())  // others hold pictures
                model::put_csv_text(n > 0 ? line += ',' : line, field_of(n));
        text += line + "\n";
    };
    add_line([&](std::size_t n) { return table.columns[n].title; });
    for (std::size_t place = 0; place < table.rows; ++place) {
        const std::vector<TableCell> cells = table.row(place);
        add_line([&](std::size_t n) { return cells[n].text; });
    }
    return text;
}

}  // namespace wq::views::terminal
