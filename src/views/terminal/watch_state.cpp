#include "views/terminal/watch_state.h"

#include <algorithm>
#include <utility>

namespace wq::views::terminal {

namespace {

constexpr std::size_t longest_words = 200;   // bytes
constexpr std::int64_t steps_of_time = 100;  // from a run's begin to its end

void append(std::string& text, char32_t character) {
    const auto add = [&](char32_t bits) { text += static_cast<char>(static_cast<unsigned char>(bits)); };
    if (character < 0x80) {
        add(character);
    } else if (character < 0x800) {
        add(0xc0 | character >> 6), add(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        add(0xe0 | character >> 12), add(0x80 | (character >> 6 & 0x3f)), add(0x80 | (character & 0x3f));
    } else {
        add(0xf0 | character >> 18), add(0x80 | (character >> 12 & 0x3f));
        add(0x80 | (character >> 6 & 0x3f)), add(0x80 | (character & 0x3f));
    }
}

void remove_last(std::string& text) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
}

// A place after a step of the keys that move in a list.
std::size_t moved(std::size_t place, Key::Kind kind, std::size_t rows, std::size_t page) {
    const std::size_t last = rows == 0 ? 0 : rows - 1;
    switch (kind) {
        case Key::Kind::up:
            return place == 0 ? 0 : place - 1;
        case Key::Kind::down:
            return std::min(place + 1, last);
        case Key::Kind::page_up:
            return place - std::min(place, page);
        case Key::Kind::page_down:
            return std::min(place + page, last);
        case Key::Kind::home:
            return 0;
        case Key::Kind::end:
            return last;
        default:
            return place;
    }
}

}  // namespace

const char* name_of(Page page) {
    static constexpr std::array names{"overview", "workers", "tasks", "failures", "waiting", "account"};
    return names[static_cast<std::size_t>(page)];
}

WatchState::Act WatchState::apply(const Key& key, const Extent& extent) {
    notice.clear();
    if (typing) {
        type(key);
        return Act::none;
    }
    switch (key.kind) {
        case Key::Kind::character:
            return apply_character(key.character, extent);
        case Key::Kind::enter:
            if (help)
                help = false;
            else if (!opened)
                return Act::open;
            return Act::none;
        case Key::Kind::escape:
        case Key::Kind::backspace:
            go_back();
            return Act::none;
        case Key::Kind::tab:
        case Key::Kind::right:
            turn_page(1);
            return Act::none;
        case Key::Kind::left:
            turn_page(-1);
            return Act::none;
        default:
            move(key.kind, extent);
            return Act::none;
    }
}

WatchState::Act WatchState::apply_character(char32_t character, const Extent& extent) {
    if (character >= '1' && character < '1' + pages.size()) {
        page = pages[character - '1'];
        opened.reset();
        help = false;
        return Act::none;
    }
    switch (character) {
        case 'q':
            return Act::quit;
        case 'w':
            return help || opened ? Act::none : Act::write;
        case '?':
            help = !help;
            break;
        case 'p':
            frozen = !frozen;
            break;
        case '[':
        case ']':
            travel(character == '[' ? -1 : 1, extent);
            break;
        case '/':
            if (!opened && page != Page::overview && page != Page::account) typing = words();
            break;
        case 's':
            if (page == Page::tasks && !opened) show_next_state();
            break;
        case 'o':
            if (!opened) sort_by_next(extent);
            break;
        case 'r':
            if (!opened && extent.sort_columns > 0) table().descending = !table().descending;
            break;
        default:
            break;
    }
    return Act::none;
}

void WatchState::type(const Key& key) {
    std::string& text = words();
    if (key.kind == Key::Kind::escape) {
        text = *std::exchange(typing, std::nullopt);
    } else if (key.kind == Key::Kind::enter) {
        typing.reset();
    } else if (key.kind == Key::Kind::backspace) {
        remove_last(text);
    } else if (key.kind == Key::Kind::character && key.character >= ' ' && text.size() < longest_words) {
        append(text, key.character);
    }
    table().selected = table().first = 0;
}

void WatchState::move(Key::Kind kind, const Extent& extent) {
    if (opened) {
        opened_first = moved(opened_first, kind, extent.rows, extent.visible);
    } else {
        table().selected = moved(table().selected, kind, extent.rows, extent.visible);
    }
    keep_in(extent);
}

void WatchState::keep_in(const Extent& extent) {
    const std::size_t visible = std::max<std::size_t>(extent.visible, 1);
    const std::size_t last_first = extent.rows > visible ? extent.rows - visible : 0;
    if (opened) {
        opened_first = std::min(opened_first, last_first);
        return;
    }
    TableState& shown = table();
    shown.selected = std::min(shown.selected, extent.rows == 0 ? 0 : extent.rows - 1);
    if (shown.selected >= visible) shown.first = std::max(shown.first, shown.selected - visible + 1);
    shown.first = std::min({shown.first, shown.selected, last_first});
}

void WatchState::turn_page(int step) {
    const auto count = static_cast<int>(pages.size());
    page = pages[static_cast<std::size_t>((static_cast<int>(page) + step + count) % count)];
    opened.reset();
    help = false;
}

// Takes back one thing at a time: the help, an open task, a choice of rows, a moment in the past.
void WatchState::go_back() {
    if (help) {
        help = false;
    } else if (opened) {
        opened.reset();
    } else if (!words().empty() || (page == Page::tasks && task_state)) {
        words().clear();
        if (page == Page::tasks) task_state.reset();
    } else {
        cut.reset();
    }
}

void WatchState::travel(int direction, const Extent& extent) {
    const WallMicros step = std::max<WallMicros>((extent.end - extent.begin) / steps_of_time, 1);
    const WallMicros at = cut.value_or(extent.end) + direction * step;
    cut = std::max(at, extent.begin);
    if (at >= extent.end) cut.reset();
}

void WatchState::sort_by_next(const Extent& extent) {
    if (extent.sort_columns == 0) return;
    table().sort_column = (table().sort_column + 1) % extent.sort_columns;
    table().selected = table().first = 0;
}

void WatchState::show_next_state() {
    if (!task_state) {
        task_state = task_states.front();
    } else if (*task_state == task_states.back()) {
        task_state.reset();
    } else {
        task_state = static_cast<TaskState>(static_cast<int>(*task_state) + 1);
    }
    table().selected = table().first = 0;
}

}  // namespace wq::views::terminal
