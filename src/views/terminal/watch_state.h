// What the user of a full-screen view looks at, as a value that keys change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "views/terminal/run_moment.h"

namespace wq::views::terminal {

struct Key {
    enum class Kind : std::uint8_t {
        character,
        enter,
        escape,
        backspace,
        tab,
        up,
        down,
        left,
        right,
        page_up,
        page_down,
        home,
        end
    };
    Kind kind = Kind::character;
    char32_t character = 0;  // of Kind::character

    static Key of(char32_t character) { return {Kind::character, character}; }
};

enum class Page : std::uint8_t { overview, workers, tasks, failures, waiting, account };
inline constexpr std::array pages{Page::overview, Page::workers, Page::tasks,
                                  Page::failures, Page::waiting, Page::account};
const char* name_of(Page page);

// A page's table: the selected row and the first that is shown, in the order of the table.
struct TableState {
    std::size_t selected = 0;
    std::size_t first = 0;
    std::size_t sort_column = 0;
    bool descending = false;
};

// What of the run and the screen keys depend on.
struct Extent {
    std::size_t rows = 0;           // of the page's table, or lines of an open task
    std::size_t visible = 1;        // of these, how many fit on the screen
    std::size_t sort_columns = 0;   // of the table; 0: it is not sorted
    WallMicros begin = 0, end = 0;  // of the run
};

struct WatchState {
    Page page = Page::overview;
    std::array<TableState, pages.size()> tables{};
    std::array<std::string, pages.size()> find{};  // shows only rows with these words
    std::optional<TaskState> task_state;           // shows only tasks in this state
    std::optional<std::string> typing;             // the words before typing began, while the user types
    std::optional<std::uint64_t> opened;           // the number of the task that is open
    std::size_t opened_first = 0;                  // its first line that is shown
    bool help = false;
    bool frozen = false;            // what is read of the run meanwhile is not shown
    std::optional<WallMicros> cut;  // the run is shown as it was then
    std::string notice;             // until the next key

    // What the caller does: open the selected row, write the table to a file, or end.
    enum class Act : std::uint8_t { none, open, write, quit };
    Act apply(const Key& key, const Extent& extent);

    TableState& table() { return tables[static_cast<std::size_t>(page)]; }
    const TableState& table() const { return tables[static_cast<std::size_t>(page)]; }
    std::string& words() { return find[static_cast<std::size_t>(page)]; }
    const std::string& words() const { return find[static_cast<std::size_t>(page)]; }
    // The selected row exists, and is on the screen.
    void keep_in(const Extent& extent);

  private:
    Act apply_character(char32_t character, const Extent& extent);
    void type(const Key& key);
    void move(Key::Kind kind, const Extent& extent);
    void turn_page(int step);
    void go_back();
    void travel(int direction, const Extent& extent);
    void sort_by_next(const Extent& extent);
    void show_next_state();
};

}  // namespace wq::views::terminal
