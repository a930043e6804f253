// A table of which only the rows on the screen are ever formatted.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "views/terminal/frame.h"
#include "views/terminal/watch_state.h"

namespace wq::views::terminal {

struct TableColumn {
    std::string title;      // of the first: not empty
    int width = 0;          // at least
    bool is_right = false;  // numbers
    bool grows = false;     // such columns share what the others leave
};

struct TableCell {
    std::string text;
    Colour colour = Colour::normal;
};

struct Table {
    std::vector<TableColumn> columns;
    std::size_t rows = 0;
    std::function<std::vector<TableCell>(std::size_t row)> row;
    std::string if_empty;    // a line in place of no rows
    bool is_sorted = false;  // by TableState::sort_column, which is marked
};

// Rows of the frame that it may use: a header, and the rest for the table's rows.
struct TableArea {
    int row = 0;
    int rows = 0;
    std::size_t visible() const { return rows > 1 ? static_cast<std::size_t>(rows - 1) : 0; }
};

// Columns that do not fit are left out. Returns how many rows were formatted: at most those that are visible.
std::size_t draw_table(Frame& frame, const TableArea& area, const Table& table, const TableState& state);

// All rows, with a header; fields are quoted as in RFC 4180.
std::string csv_of(const Table& table);

}  // namespace wq::views::terminal
