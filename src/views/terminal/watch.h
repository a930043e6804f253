// A run and what its user looks at, together: takes what is read of the run and the keys of the user, and
// gives frames. Costs of a frame: the rows on the screen. Tables are counted once for each change of the run
// or of the moment, and sorted once for each change of these or of the user's choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "views/model/account.h"
#include "views/model/run_view.h"
#include "views/terminal/frame.h"
#include "views/terminal/pages.h"
#include "views/terminal/run_moment.h"
#include "views/terminal/watch_state.h"

namespace wq::views::terminal {

// What is read of a run at once.
struct RunPicture {
    model::RunView run;
    model::Account account;
};

class Watch {
  public:
    explicit Watch(std::shared_ptr<const RunPicture> picture);

    // While the user has frozen the picture, it is shown later.
    void set_picture(std::shared_ptr<const RunPicture> picture);
    void set_silence(Silence silence) { silence_ = std::move(silence); }
    void set_notice(std::string notice) { state_.notice = std::move(notice); }

    // Act::write and Act::quit are the caller's.
    WatchState::Act apply(const Key& key, Size size);
    Frame frame(Size size, Glyphs glyphs, WallMicros now);
    std::string csv();
    std::string overview(int columns, Glyphs glyphs, WallMicros now);

    const WatchState& state() const { return state_; }

    struct Work {
        std::size_t counted = 0;    // runs at a moment
        std::size_t sorted = 0;     // tables
        std::size_t formatted = 0;  // rows of tables, in frames
    };
    const Work& work() const { return work_; }

  private:
    void update();
    std::optional<std::uint64_t> selected() const;
    void select_again(std::uint64_t selected);
    void open_selected();
    Extent extent(Size size) const;
    Shown shown(WallMicros now) const;

    // What the tables were made for.
    struct Made {
        const RunPicture* picture = nullptr;
        std::optional<WallMicros> cut{};
        bool operator==(const Made&) const = default;
    };
    struct Ordered {
        Page page = Page::overview;
        std::string words{};
        std::optional<TaskState> task_state{};
        std::size_t sort_column = 0;
        bool descending = false;
        bool operator==(const Ordered&) const = default;
    };

    std::shared_ptr<const RunPicture> picture_;
    std::shared_ptr<const RunPicture> newest_;
    Silence silence_;
    WatchState state_;
    RunMoment moment_;
    std::vector<std::uint32_t> order_;
    std::optional<Made> made_;
    std::optional<Ordered> ordered_;
    Work work_;
};

}  // namespace wq::views::terminal
