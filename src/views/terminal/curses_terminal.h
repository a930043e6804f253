// The terminal of the user: draws frames, reads keys. A terminal is restored when the object ends, or the
// program crashes. Only changes are sent, as a slow connection needs.
//
// One object at a time. Signals are the caller's: it blocks those that end the program (base/signals.h), so
// that the terminal is restored before its end. A change of the terminal's size interrupts poll().
#pragma once

#include <memory>
#include <optional>

#include "views/terminal/frame.h"
#include "views/terminal/watch_state.h"

namespace wq::views::terminal {

class CursesTerminal {
  public:
    // Uses stdin and stdout. nullptr if they are no terminal, or one that cannot show a picture ($TERM is
    // empty, "dumb" or not known). Sets the program's locale for characters.
    static std::unique_ptr<CursesTerminal> open();
    ~CursesTerminal();
    CursesTerminal(const CursesTerminal&) = delete;
    CursesTerminal& operator=(const CursesTerminal&) = delete;

    Size size() const;
    Glyphs glyphs() const { return glyphs_; }
    void draw(const Frame& frame);
    // Sends the whole picture again, as after another program wrote to the terminal.
    void redraw();

    struct Event {
        std::optional<Key> key;  // nullopt: the size has changed, or a key without a meaning was pressed
    };
    // nullopt: nothing was pressed. Never waits.
    std::optional<Event> next();
    int descriptor() const;  // readable if a key was pressed

  private:
    struct Screen;
    explicit CursesTerminal(std::unique_ptr<Screen> screen);

    std::unique_ptr<Screen> screen_;
    Glyphs glyphs_;
};

// The characters of the user's locale.
Glyphs glyphs_of_locale();

}  // namespace wq::views::terminal
