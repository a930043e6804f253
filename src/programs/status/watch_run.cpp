#include "programs/status/watch_run.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/descriptor.h"
#include "base/read_write.h"
#include "base/signals.h"
#include "programs/run/run_place.h"
#include "programs/status/run_feed.h"
#include "programs/status/status_table.h"
#include "views/terminal/curses_terminal.h"
#include "views/terminal/watch.h"

namespace wq::programs::status {

namespace {

using views::terminal::CursesTerminal;
using views::terminal::Watch;
using views::terminal::WatchState;

// A new file in the current folder. Returns a line for the user.
std::string write_table(const std::string& text, const char* page) {
    constexpr int most_files = 1000;
    for (int n = 1; n <= most_files; ++n) {
        const std::string name =
            std::string("work_queue-") + page + (n > 1 ? "-" + std::to_string(n) : "") + ".csv";
        const Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file.valid() && errno == EEXIST) continue;
        if (!file.valid() || !write_all(file.get(), text)) return name + ": " + std::strerror(errno);
        return "written: " + name;
    }
    return "not written: there are too many files work_queue-" + std::string(page) + "-*.csv";
}

class WatchLoop {
  public:
    WatchLoop(CursesTerminal& terminal, Signals& signals, RunFeed& feed)
        : terminal_(terminal), signals_(signals), feed_(feed), watch_(feed.picture()) {}

    void run() {
        while (!over_) {
            terminal_.draw(watch_.frame(terminal_.size(), terminal_.glyphs(), wall_now()));
            wait();
            if (feed_.step(instant_now())) take_from_feed();
            if (signals_.next()) over_ = true;
            read_keys();
        }
    }

  private:
    // A key, a signal, a look at the run, or a second: the picture says how old its figures are. A change of
    // the terminal's size interrupts it.
    void wait() {
        const Duration until_look = std::max<Duration>(feed_.wakeup() - instant_now(), Duration{});
        const Duration at_most = std::min<Duration>(until_look, std::chrono::seconds(1));
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
        std::array<pollfd, 3> waited{{{terminal_.descriptor(), POLLIN, 0},
                                      {signals_.descriptor(), POLLIN, 0},
                                      {feed_.descriptor(), POLLIN, 0}}};
        const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(ms));
        // The terminal is gone, and whoever ignores SIGHUP gets no signal.
        if (ready > 0 && (waited[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) over_ = true;
    }

    void take_from_feed() {
        watch_.set_picture(feed_.picture());
        watch_.set_silence(feed_.silence());
    }

    void read_keys() {
        while (const auto event = over_ ? std::nullopt : terminal_.next()) {
            if (!event->key) continue;
            const WatchState::Act act = watch_.apply(*event->key, terminal_.size());
            if (act == WatchState::Act::quit) over_ = true;
            if (act == WatchState::Act::write) write();
        }
    }

    void write() {
        const views::terminal::Page page = watch_.state().page;
        watch_.set_notice(page == views::terminal::Page::overview ? "the overview is no table; 2 to 6 are"
                                                                  : write_table(watch_.csv(), name_of(page)));
    }

    CursesTerminal& terminal_;
    Signals& signals_;
    RunFeed& feed_;
    Watch watch_;
    bool over_ = false;
};

// A list stands for its newest run.
std::string source_of(const std::string& run) {
    std::error_code unknown;
    const std::string name = std::filesystem::path(run).filename().string();
    const bool is_record = name == "stats.h5" || name == "transactions.log";
    if (is_record && std::filesystem::is_regular_file(run, unknown)) return run;
    return programs::run::directory_of_run(run);
}

}  // namespace

Status watch_run(const std::string& run) {
    const std::string source = source_of(run);
    std::error_code unknown;
    if (!std::filesystem::exists(source, unknown))
        return Error{ExitCode::bad_input, source + ": no such run; the run directory of a list is LIST.wq"};
    const Instant begin = instant_now();
    auto picture = read_picture(source);
    if (!picture) return Error{ExitCode::bad_input, picture.error().message};
    auto signals = Signals::block();
    if (!signals) return signals.error();
    RunFeed feed(source, *picture, instant_now() - begin);
    std::unique_ptr<CursesTerminal> terminal = CursesTerminal::open();
    if (!terminal) {
        const auto glyphs = views::terminal::glyphs_of_locale();
        const std::string text = Watch(*picture).overview(line_width(), glyphs, wall_now());
        std::fwrite(text.data(), 1, text.size(), stdout);
        return success();
    }
    WatchLoop(*terminal, *signals, feed).run();
    terminal.reset();
    // A file system that hangs does not hold up the user. Nothing is lost: the thread only reads.
    if (feed.is_looking()) std::_Exit(0);
    return success();
}

}  // namespace wq::programs::status
