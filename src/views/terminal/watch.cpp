#include "views/terminal/watch.h"

#include <algorithm>
#include <utility>

#include "views/terminal/open_task.h"
#include "views/terminal/page_tables.h"
#include "views/terminal/row_order.h"

namespace wq::views::terminal {

Watch::Watch(std::shared_ptr<const RunPicture> picture) : picture_(picture), newest_(std::move(picture)) {
    update();
}

void Watch::set_picture(std::shared_ptr<const RunPicture> picture) {
    newest_ = std::move(picture);
    update();
}

void Watch::update() {
    if (!state_.frozen) picture_ = newest_;
    const Made made{picture_.get(), state_.cut};
    std::optional<std::uint64_t> before;
    if (made_ != made) {
        before = selected();
        moment_ = moment_of(picture_->run, state_.cut);
        made_ = made;
        ordered_.reset();
        ++work_.counted;
    }
    Ordered ordered{state_.page, state_.words(), state_.task_state, state_.table().sort_column,
                    state_.table().descending};
    if (ordered_ != ordered) {
        order_ = ordered_rows(picture_->run, picture_->account, moment_, state_);
        ordered_ = std::move(ordered);
        ++work_.sorted;
    }
    if (before) select_again(*before);
}

// The task or worker that the user has selected; the first row stays the first.
std::optional<std::uint64_t> Watch::selected() const {
    const std::size_t row = state_.table().selected;
    if (row == 0 || row >= order_.size() || !ordered_ || ordered_->page != state_.page) return std::nullopt;
    if (state_.page == Page::tasks) return moment_.tasks[order_[row]].task;
    if (state_.page == Page::workers) return moment_.workers[order_[row]].worker;
    return std::nullopt;
}

// Where it was on the screen, although rows came or went before it.
void Watch::select_again(std::uint64_t selected) {
    for (std::size_t row = 0; row < order_.size(); ++row) {
        const std::uint32_t place = order_[row];
        const std::uint64_t here =
            state_.page == Page::tasks ? moment_.tasks[place].task : moment_.workers[place].worker;
        if (here != selected) continue;
        TableState& table = state_.table();
        const std::size_t above = table.selected - std::min(table.first, table.selected);
        table.selected = row;
        table.first = row - std::min(above, row);
        return;
    }
}

Extent Watch::extent(Size size) const {
    Extent extent;
    extent.rows =
        state_.opened ? lines_of_task(picture_->run, moment_, *state_.opened).size() : order_.size();
    extent.visible = visible_rows(state_, size);
    extent.sort_columns = sort_columns_of(state_.page);
    extent.begin = picture_->run.begin;
    extent.end = picture_->run.end;
    return extent;
}

void Watch::open_selected() {
    const std::size_t selected = state_.table().selected;
    if (selected >= order_.size()) return;
    const std::uint32_t row = order_[selected];
    const model::RunView& run = picture_->run;
    if (state_.page == Page::tasks) {
        state_.opened = moment_.tasks[row].task;
    } else if (state_.page == Page::failures) {
        state_.opened = run.attempts[moment_.failures[row].latest.front()].task;
    } else if (state_.page == Page::workers) {
        const std::string host = host_text(run, moment_.workers[row].worker);
        state_.page = Page::tasks;
        state_.task_state.reset();
        state_.words() = "host=" + host;
        state_.table().selected = state_.table().first = 0;
    }
    state_.opened_first = 0;
}

WatchState::Act Watch::apply(const Key& key, Size size) {
    WatchState::Act act = state_.apply(key, extent(size));
    if (act == WatchState::Act::open) {
        open_selected();
        act = WatchState::Act::none;
    }
    update();
    return act;
}

Shown Watch::shown(WallMicros now) const {
    return {picture_->run, picture_->account, moment_, state_, order_, silence_, now};
}

Frame Watch::frame(Size size, Glyphs glyphs, WallMicros now) {
    state_.keep_in(extent(size));
    Drawn drawn = draw_page(shown(now), size, glyphs);
    work_.formatted += drawn.formatted;
    return std::move(drawn.frame);
}

std::string Watch::csv() {
    const Shown all = shown(0);
    return csv_of(table_of(all, Glyphs::utf8));
}

std::string Watch::overview(int columns, Glyphs glyphs, WallMicros now) {
    return overview_text(shown(now), columns, glyphs);
}

}  // namespace wq::views::terminal
