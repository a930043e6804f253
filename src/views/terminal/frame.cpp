#include "views/terminal/frame.h"

#include <clocale>
#include <cwchar>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace wq::views::terminal {

namespace {

// Widths are those of UTF-8, whatever the locale of the program is. The locale stays: it is one for all.
class WidthLocale {
  public:
    WidthLocale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
    int width_of(char32_t character) const {
        if (locale_ == nullptr) return -1;
        const locale_t before = ::uselocale(locale_);
        const int width = ::wcwidth(static_cast<wchar_t>(character));
        ::uselocale(before);
        return width;
    }

  private:
    locale_t locale_;
};

struct Glyph {
    std::string text;
    int width = 1;  // 0: belongs to the character before it
};

struct Decoded {
    char32_t character = 0;
    std::size_t bytes = 1;
    bool valid = false;
};

// One character of UTF-8 in its shortest form.
Decoded decode(std::string_view text) {
    const auto byte = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return {first, 1, true};
    const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
    char32_t character = first & (0xffu >> (bytes + 1));
    for (std::size_t n = 1; n < bytes; ++n) {
        if ((byte(n) & 0xc0) != 0x80) return {};
        character = character << 6 | (byte(n) & 0x3f);
    }
    constexpr std::array<char32_t, 5> lowest{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = character >= 0xd800 && character < 0xe000;
    if (character < lowest[bytes] || character > 0x10ffff || surrogate) return {};
    return {character, bytes, true};
}

// Marks that change the direction of a line, or cannot be seen.
bool is_hidden_mark(char32_t character) {
    const auto in = [character](char32_t low, char32_t high) {
        return character >= low && character <= high;
    };
    return character == 0xad || character == 0x61c || character == 0xfeff || in(0x200b, 0x200f) ||
           in(0x2028, 0x202e) || in(0x2060, 0x206f) || in(0xfff0, 0xfffb) || in(0xe0000, 0xe0fff);
}

// Takes the first character of `rest`.
Glyph next_glyph(std::string_view& rest, Glyphs glyphs) {
    static const WidthLocale widths;
    const Decoded decoded = decode(rest);
    const std::string_view bytes = rest.substr(0, decoded.bytes);
    rest.remove_prefix(decoded.bytes);
    if (!decoded.valid) return {"?"};
    const char32_t character = decoded.character;
    if (character == '\t' || character == '\n' || character == '\r') return {" "};
    if (character < 0x20 || character == 0x7f) return {"?"};
    if (character < 0x7f) return {std::string(bytes)};
    if (character < 0xa0 || is_hidden_mark(character)) return {"?"};
    const int width = widths.width_of(character);
    if (width < 0) return {"?"};
    if (glyphs == Glyphs::ascii) return {std::string(static_cast<std::size_t>(width), '?'), width};
    return {std::string(bytes), width};
}

// A text of more bytes holds characters without a width, without end.
std::string_view bounded(std::string_view text, int columns) {
    constexpr std::size_t bytes_a_column = 16;
    return text.substr(0, bytes_a_column * static_cast<std::size_t>(std::max(columns, 0) + 1));
}

constexpr std::size_t most_bytes_a_cell = 16;  // with combining characters

}  // namespace

Frame::Frame(Size size, Glyphs glyphs)
    : size_{std::max(size.columns, 0), std::max(size.rows, 0)},
      glyphs_(glyphs),
      cells_(static_cast<std::size_t>(size_.columns) * static_cast<std::size_t>(size_.rows)) {}

// What remains of a wide character that is overwritten in part becomes a blank.
void Frame::set(int row, int column, int width, std::string text, Style style) {
    if (at(row, column).text.empty() && column > 0) at(row, column - 1).text = " ";
    const int behind = column + width;
    if (behind < size_.columns && at(row, behind).text.empty()) at(row, behind).text = " ";
    at(row, column) = {std::move(text), style};
    if (width == 2) at(row, column + 1) = {"", style};
}

int Frame::put(int row, int column, std::string_view text, Style style, int most) {
    if (row < 0 || row >= size_.rows || column < 0) return column;
    const int end = std::min(size_.columns, column + std::clamp(most, 0, unlimited));
    int last = -1;  // the column of the last character
    for (std::string_view rest = bounded(text, end - column); !rest.empty();) {
        Glyph glyph = next_glyph(rest, glyphs_);
        if (glyph.width == 0) {
            if (last >= 0 && at(row, last).text.size() + glyph.text.size() <= most_bytes_a_cell)
                at(row, last).text += glyph.text;
            continue;
        }
        if (column + glyph.width > end) break;
        if (glyphs_ == Glyphs::ascii && glyph.width == 2) {
            set(row, column, 1, "?", style);
            set(row, column + 1, 1, "?", style);
        } else {
            set(row, column, glyph.width, std::move(glyph.text), style);
        }
        last = column;
        column += glyph.width;
    }
    return column;
}

void Frame::put_right(int row, int column, std::string_view text, int width, Style style) {
    const int columns = columns_of(text, glyphs_, width);
    put(row, column + std::max(width - columns, 0), text, style, std::min(columns, width));
}

void Frame::set_style(int row, int column, int width, Style style) {
    if (row < 0 || row >= size_.rows) return;
    for (int at_column = std::max(column, 0); at_column < std::min(column + width, size_.columns);
         ++at_column)
        at(row, at_column).style = style;
}

std::vector<Frame::Run> Frame::runs(int row) const {
    std::vector<Run> runs;
    for (int column = 0; column < size_.columns; ++column) {
        const Cell& cell = cells_[place(row, column)];
        if (runs.empty() || runs.back().style != cell.style) runs.push_back({column, "", cell.style});
        runs.back().text += cell.text;
    }
    return runs;
}

std::string Frame::plain() const {
    std::string all;
    for (int row = 0; row < size_.rows; ++row) {
        std::string line;
        for (const Run& run : runs(row)) line += run.text;
        all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
}

int columns_of(std::string_view text, Glyphs glyphs, int most) {
    int columns = 0;
    for (std::string_view rest = bounded(text, most); !rest.empty() && columns < most;) {
        const int width = next_glyph(rest, glyphs).width;
        if (columns + width > most) break;
        columns += width;
    }
    return columns;
}

std::string level_glyph(double share, Glyphs glyphs) {
    if (!(share > 0)) return ".";
    static constexpr std::array levels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const int steps = glyphs == Glyphs::utf8 ? static_cast<int>(levels.size()) : 9;
    const int level = std::clamp(static_cast<int>(std::ceil(share * steps)), 1, steps);
    return glyphs == Glyphs::utf8 ? levels[static_cast<std::size_t>(level - 1)] : std::to_string(level);
}

std::string bar(double share, int width, Glyphs glyphs) {
    static constexpr std::array parts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const bool fine = glyphs == Glyphs::utf8;
    const int steps = fine ? static_cast<int>(parts.size()) : 1;
    if (width <= 0 || !(share > 0)) return {};
    // Something is never shown as nothing.
    const int filled = std::clamp(static_cast<int>(std::lround(share * width * steps)), 1, width * steps);
    std::string text;
    for (int column = 0; column < filled / steps; ++column) text += fine ? "█" : "#";
    if (fine) text += parts[static_cast<std::size_t>(filled % steps)];
    return text;
}

}  // namespace wq::views::terminal
