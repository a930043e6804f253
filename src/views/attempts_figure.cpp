#include "views/attempts_figure.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "views/plot_figures.h"

namespace wq::views {

namespace {

constexpr std::size_t most_lines = 500;  // the picture has about as many pixels
constexpr double most_columns = 1000;
constexpr std::size_t most_names = 40;  // of rows

struct Piece {
    double left, right;  // in the unit
};

// What is less than a pixel apart is one.
std::vector<Piece> joined(std::vector<Piece> pieces, double pixel) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.left < b.left; });
    std::vector<Piece> out;
    for (const Piece& piece : pieces) {
        if (!out.empty() && piece.left - out.back().right < pixel)
            out.back().right = std::max(out.back().right, piece.right);
        else
            out.push_back(piece);
    }
    return out;
}

// Bars of one kind (a category, or a part of the attempts) in rows.
class Lines {
  public:
    Lines(std::size_t rows, double low, double high)
        : rows_(rows),
          count_(std::min(rows, most_lines)),
          low_(low),
          high_(high),
          pixel_((high - low) / most_columns),
          pieces_(count_) {}

    void add(std::size_t row, std::size_t kind, double left, double right) {
        if (right < low_ || left > high_) return;
        left = std::max(left, low_);
        right = std::clamp(right, left + pixel_ / 4, std::max(high_, left + pixel_ / 4));
        pieces_[row * count_ / rows_][kind].push_back({left, right});
    }

    // `overlaid`: all kinds have the whole height of the line, later ones before earlier ones.
    void fill(std::vector<Bars>& kinds, bool overlaid) const {
        const double height = static_cast<double>(rows_) / static_cast<double>(count_);
        const double gap = rows_ <= most_names ? 0.1 : 0;
        for (std::size_t line = 0; line < count_; ++line) {
            std::size_t all = 0;
            for (const auto& [kind, pieces] : pieces_[line]) all += pieces.size();
            const bool is_shared = !overlaid && rows_ > count_;
            double low = static_cast<double>(line) * height;
            for (const auto& [kind, pieces] : pieces_[line]) {
                const double part =
                    is_shared ? height * static_cast<double>(pieces.size()) / static_cast<double>(all)
                              : height;
                for (const Piece& piece : joined(pieces, pixel_))
                    kinds[kind].bars.push_back({piece.left, piece.right, low + gap, low + part - gap});
                if (is_shared) low += part;
            }
        }
    }

  private:
    std::size_t rows_, count_;
    double low_, high_, pixel_;
    std::vector<std::map<std::size_t, std::vector<Piece>>> pieces_;  // of lines, by kind
};

// Kinds of bars: the categories, with the largest in colours of their own.
std::vector<std::size_t> kinds_of(const Attempts& all, std::vector<Bars>& kinds) {
    std::vector<std::pair<std::size_t, std::size_t>> sizes;  // and the category
    for (std::size_t i = 0; i < all.categories.size(); ++i) sizes.emplace_back(0, i);
    for (const Attempt& attempt : all.attempts) sizes[attempt.category].first += 1;
    constexpr std::size_t most = 18;
    if (sizes.size() > most)
        std::stable_sort(sizes.begin(), sizes.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::size_t> kind_of(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        kind_of[sizes[i].second] = std::min(i, most);
        if (i < most) kinds.push_back({all.categories[sizes[i].second], category_color(i), {}});
    }
    if (sizes.size() > most) kinds.push_back({std::to_string(sizes.size() - most) + " others", grey, {}});
    return kind_of;
}

}  // namespace

Figure attempts_figure(const Attempts& all, RowOrder order, WallMicros start, std::optional<TimeUnit> unit,
                       const std::optional<PlotRange>& range) {
    const bool by_attempt = order == RowOrder::attempts;
    const bool by_slot = order == RowOrder::slots;
    Figure figure;
    figure.name = by_attempt ? "attempts" : by_slot ? "slots" : "attempts_by_worker";
    figure.title = by_attempt ? "Attempts by start" : by_slot ? "Slots of workers" : "Workers";
    figure.y_label = by_attempt ? "attempts" : by_slot ? "slots" : "workers";
    figure.has_rows = true;
    const TimeUnit chosen = unit ? *unit : unit_of(static_cast<double>(all.end - start));
    figure.x_label = std::string("time since the start (") + name_of(chosen) + ")";
    const auto x_of = [&](WallMicros time) { return static_cast<double>(time - start) / micros_per(chosen); };
    const double low = range ? range->min : 0;
    const double high = range && range->max ? *range->max : x_of(all.end);
    if (!(high > low) || all.workers.empty()) return figure;
    figure.x = {low, high};

    std::vector<std::size_t> first_row(all.workers.size());  // of each worker
    std::size_t rows = 0;
    for (std::size_t i = 0; i < all.workers.size(); ++i) {
        first_row[i] = rows;
        rows += by_slot ? std::max(all.workers[i].slots, 1U) : 1;
    }
    if (by_attempt) rows = all.attempts.size();
    if (rows == 0) return figure;
    if (!by_attempt && rows <= most_names)
        for (const WorkerStay& worker : all.workers) {
            figure.row_names.push_back(worker.name);
            for (std::uint32_t slot = 1; by_slot && slot < worker.slots; ++slot)
                figure.row_names.emplace_back();
        }
    Lines lines(rows, low, high);
    std::vector<std::size_t> kind_of;
    if (by_attempt) {
        kind_of = kinds_of(all, figure.bars);
    } else {
        figure.bars.push_back({by_slot ? "connected" : "idle", "#D0D0D0", {}});
        if (!by_slot) figure.bars.push_back({"working", blue, {}});
        if (by_slot)
            for (std::size_t& kind : kind_of = kinds_of(all, figure.bars)) kind += 1;
        for (std::size_t i = 0; i < all.workers.size(); ++i)
            for (std::size_t row = first_row[i]; row < (i + 1 < first_row.size() ? first_row[i + 1] : rows);
                 ++row)
                lines.add(row, 0, x_of(all.workers[i].joined), x_of(all.workers[i].left));
    }
    for (std::size_t i = 0; i < all.attempts.size(); ++i) {
        const Attempt& attempt = all.attempts[i];
        const std::size_t row = by_attempt ? i : first_row[attempt.worker] + (by_slot ? attempt.slot : 0);
        const std::size_t kind = kind_of.empty() ? 1 : kind_of[attempt.category];
        lines.add(row, kind, x_of(attempt.input), x_of(attempt.ended));
    }
    lines.fill(figure.bars, !by_attempt);
    std::erase_if(figure.bars, [](const Bars& bars) { return bars.bars.empty(); });
    return figure;
}

}  // namespace wq::views
