// A picture of the screen, as a value: styled characters in rows and columns. Tests compare its plain text;
// curses_terminal.h draws it.
//
// Texts may be hostile: names of tasks, hosts and files come from others. No control character, escape
// sequence or direction mark of a text enters a frame; "?" stands in its place, and a blank in place of a tab
// or newline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wq::views::terminal {

// By meaning; the terminal chooses the colours.
enum class Colour : std::uint8_t { normal, good, bad, warning, busy, quiet, title };
inline constexpr std::size_t colour_count = static_cast<std::size_t>(Colour::title) + 1;

struct Style {
    Colour colour = Colour::normal;
    bool bold = false;
    bool reversed = false;
    bool operator==(const Style&) const = default;
};

enum class Glyphs : std::uint8_t { utf8, ascii };  // ascii: "?" stands for every other character

struct Size {
    int columns = 80;
    int rows = 24;
    bool operator==(const Size&) const = default;
};

class Frame {
  public:
    Frame(Size size, Glyphs glyphs);

    Size size() const { return size_; }
    Glyphs glyphs() const { return glyphs_; }

    // Writes a text from a column on, clipped to `most` columns and to the frame. Returns the column behind
    // it. Reads no more of a long text than can be shown.
    int put(int row, int column, std::string_view text, Style style = {}, int most = unlimited);
    // The same, aligned to the right end of `width` columns; a longer text keeps its beginning.
    void put_right(int row, int column, std::string_view text, int width, Style style = {});
    // Gives `width` columns another style.
    void set_style(int row, int column, int width, Style style);

    // Characters of one style.
    struct Run {
        int column = 0;
        std::string text;  // UTF-8, or ASCII
        Style style;
    };
    std::vector<Run> runs(int row) const;
    // Rows without their trailing blanks, each with a newline.
    std::string plain() const;

  private:
    static constexpr int unlimited = 1 << 20;

    // The text is empty in the second column of a wide character.
    struct Cell {
        std::string text = " ";
        Style style;
    };
    std::size_t place(int row, int column) const {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns) +
               static_cast<std::size_t>(column);
    }
    Cell& at(int row, int column) { return cells_[place(row, column)]; }
    void set(int row, int column, int width, std::string text, Style style);

    Size size_;
    Glyphs glyphs_;
    std::vector<Cell> cells_;
};

// How many columns a text takes in a frame; looks no further than `most`.
int columns_of(std::string_view text, Glyphs glyphs, int most = 1 << 20);

// "▁" to "█" for 0 < share <= 1, or "1" to "9"; "." for 0.
std::string level_glyph(double share, Glyphs glyphs);

// A bar of `width` columns, filled in eighths of a column; with ASCII in whole columns.
std::string bar(double share, int width, Glyphs glyphs);

}  // namespace wq::views::terminal
