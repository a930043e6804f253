#include "views/terminal/curses_terminal.h"

// Functions alone: macros of such short names would reach into our own code.
#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

// Of term.h, which has macros such as `tab`.
extern "C" char* tigetstr(const char* name);

namespace wq::views::terminal {

struct CursesTerminal::Screen {
    SCREEN* screen = nullptr;
    bool has_colours = false;
    bool has_many_colours = false;
};

namespace {

bool is_given(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

bool shows_pictures() {
    return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && is_given("TERM") &&
           std::string_view(std::getenv("TERM")) != "dumb";
}

// Of 8 and of 256 colours, in the order of Colour; -1: the terminal's own.
struct Pair {
    short few, many;
};
constexpr std::array<Pair, colour_count> palette{{{-1, -1},
                                                  {COLOR_GREEN, 35},
                                                  {COLOR_RED, 203},
                                                  {COLOR_YELLOW, 178},
                                                  {COLOR_CYAN, 74},
                                                  {-1, 245},
                                                  {COLOR_BLUE, 110}}};

void set_colours(bool many) {
    ::use_default_colors();
    for (std::size_t n = 1; n < palette.size(); ++n)
        ::init_pair(static_cast<short>(n), many ? palette[n].many : palette[n].few, -1);
}

attr_t attributes_of(const Style& style, bool has_colours, bool has_many_colours) {
    attr_t attributes = A_NORMAL;
    if (style.bold) attributes |= A_BOLD;
    if (style.reversed) attributes |= A_REVERSE;
    if (style.colour == Colour::quiet && !has_many_colours) attributes |= A_DIM;
    // Without colours, what is wrong stands out.
    if (style.colour == Colour::bad && !has_colours) attributes |= A_BOLD;
    return attributes;
}

constexpr std::pair<int, Key::Kind> function_keys[] = {
    {KEY_ENTER, Key::Kind::enter},   {KEY_BACKSPACE, Key::Kind::backspace}, {KEY_UP, Key::Kind::up},
    {KEY_DOWN, Key::Kind::down},     {KEY_LEFT, Key::Kind::left},           {KEY_RIGHT, Key::Kind::right},
    {KEY_PPAGE, Key::Kind::page_up}, {KEY_NPAGE, Key::Kind::page_down},     {KEY_HOME, Key::Kind::home},
    {KEY_END, Key::Kind::end},
};

std::optional<Key> function_key(wint_t code) {
    for (const auto& [number, kind] : function_keys)
        if (static_cast<wint_t>(number) == code) return Key{kind};
    return std::nullopt;
}

Key character_key(wint_t code) {
    switch (code) {
        case '\r':
        case '\n':
            return {Key::Kind::enter};
        case '\t':
            return {Key::Kind::tab};
        case 27:
            return {Key::Kind::escape};
        case 8:
        case 127:
            return {Key::Kind::backspace};
        default:
            return Key::of(static_cast<char32_t>(code));
    }
}

// ---- a crash: the terminal is restored by what a signal handler may call ----

// A handler reaches nothing else.
struct Rescue {
    termios settings;
    std::array<char, 128> text;
    std::size_t bytes;
};
Rescue rescue;

// SIGQUIT is Ctrl-\, which ends the program as it would without a full screen.
constexpr std::array crashes{SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGABRT,
                             SIGQUIT, SIGSYS, SIGTRAP, SIGXCPU, SIGALRM};

// The default action follows: SA_RESETHAND.
void restore_and_end(int signal) {
    ::tcsetattr(STDOUT_FILENO, TCSANOW, &rescue.settings);
    if (::write(STDOUT_FILENO, rescue.text.data(), rescue.bytes) < 0) static_cast<void>(errno);
    ::raise(signal);
}

// A capability of the terminal without its delays, "$<5>".
std::string capability(const char* name) {
    const char* const found = ::tigetstr(name);
    if (found == nullptr || found == reinterpret_cast<const char*>(-1)) return {};
    std::string text = found;
    for (std::size_t at = text.find("$<"); at != std::string::npos; at = text.find("$<"))
        text.erase(at, text.find('>', at) - at + 1);
    return text;
}

// Handlers of others, such as a sanitizer's, stay.
void prepare_rescue(const termios& settings) {
    rescue.settings = settings;
    const std::string text =
        capability("sgr0") + capability("rmkx") + capability("rmcup") + capability("cnorm");
    rescue.bytes = std::min(text.size(), rescue.text.size());
    std::memcpy(rescue.text.data(), text.data(), rescue.bytes);
    for (const int number : crashes) {
        struct sigaction now {};
        if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
        now.sa_handler = restore_and_end;
        now.sa_flags = static_cast<int>(SA_RESETHAND);
        ::sigaction(number, &now, nullptr);
    }
}

void forget_rescue() {
    for (const int number : crashes) {
        struct sigaction now {};
        if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == restore_and_end)
            ::signal(number, SIG_DFL);
    }
}

}  // namespace

Glyphs glyphs_of_locale() {
    std::setlocale(LC_CTYPE, "");
    return std::string_view(::nl_langinfo(CODESET)) == "UTF-8" ? Glyphs::utf8 : Glyphs::ascii;
}

// newterm() returns where initscr() would end the program.
std::unique_ptr<CursesTerminal> CursesTerminal::open() {
    if (!shows_pictures()) return nullptr;
    glyphs_of_locale();
    auto screen = std::make_unique<Screen>();
    termios settings{};
    if (::tcgetattr(STDOUT_FILENO, &settings) != 0) return nullptr;
    screen->screen = ::newterm(nullptr, stdout, stdin);
    if (screen->screen == nullptr) return nullptr;
    prepare_rescue(settings);
    return std::unique_ptr<CursesTerminal>(new CursesTerminal(std::move(screen)));
}

CursesTerminal::CursesTerminal(std::unique_ptr<Screen> screen)
    : screen_(std::move(screen)), glyphs_(glyphs_of_locale()) {
    constexpr int escape_ms = 25;  // for the rest of an escape sequence of a key
    ::set_escdelay(escape_ms);
    ::cbreak();
    ::noecho();
    ::nonl();
    ::curs_set(0);
    ::keypad(stdscr, TRUE);
    ::nodelay(stdscr, TRUE);
    ::scrollok(stdscr, FALSE);
    if (!is_given("NO_COLOR") && ::has_colors() && ::start_color() == OK) {
        screen_->has_colours = true;
        screen_->has_many_colours = COLORS >= 256;
        set_colours(screen_->has_many_colours);
    }
}

CursesTerminal::~CursesTerminal() {
    ::endwin();
    forget_rescue();
    ::delscreen(screen_->screen);
}

Size CursesTerminal::size() const {
    return {::getmaxx(stdscr), ::getmaxy(stdscr)};
}

void CursesTerminal::draw(const Frame& frame) {
    ::werase(stdscr);
    for (int row = 0; row < frame.size().rows; ++row) {
        for (const Frame::Run& run : frame.runs(row)) {
            const short pair = screen_->has_colours ? static_cast<short>(run.style.colour) : short{0};
            ::wattr_set(stdscr, attributes_of(run.style, screen_->has_colours, screen_->has_many_colours),
                        pair, nullptr);
            ::mvwaddnstr(stdscr, row, run.column, run.text.c_str(), static_cast<int>(run.text.size()));
        }
    }
    ::wrefresh(stdscr);
}

void CursesTerminal::redraw() {
    ::clearok(stdscr, TRUE);
}

std::optional<CursesTerminal::Event> CursesTerminal::next() {
    wint_t code = 0;
    const int kind = ::wget_wch(stdscr, &code);
    if (kind == ERR) return std::nullopt;
    if (kind == KEY_CODE_YES) return Event{function_key(code)};
    constexpr wint_t redraw_code = 12;  // Ctrl-L
    if (code == redraw_code) {
        redraw();
        return Event{};
    }
    return Event{character_key(code)};
}

int CursesTerminal::descriptor() const {
    return STDIN_FILENO;
}

}  // namespace wq::views::terminal
