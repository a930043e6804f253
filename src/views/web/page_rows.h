// Which categories, hosts and workers a page has rows for. A run may have more of them than anyone reads, or
// than fit into a page: those with most core time have their own, and one row has the sum of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "views/report/figures.h"
#include "views/report/trace_file.h"

namespace wq::views::web {

inline constexpr std::size_t most_categories = 1'000;
inline constexpr std::size_t most_hosts = 1'000;
inline constexpr std::size_t most_workers = 5'000;

// Rows for the places of a table of a run: those that are shown, in their order; if some are not, one for
// all of these; and one for what has no place in the table.
class PageRows {
  public:
    // `shown` is in order.
    PageRows(std::size_t places, std::vector<std::uint32_t> shown);

    const std::vector<std::uint32_t>& shown() const { return shown_; }
    std::size_t row_of(std::uint32_t place) const {
        return place < rows_.size() ? rows_[place] : not_known();
    }
    std::size_t left_out() const { return rows_.size() - shown_.size(); }
    std::size_t others() const { return shown_.size(); }  // the row, if there are any
    std::size_t not_known() const { return shown_.size() + (left_out() > 0 ? 1 : 0); }
    std::size_t size() const { return not_known() + 1; }

  private:
    std::vector<std::uint32_t> shown_;
    std::vector<std::size_t> rows_;  // by place
};

PageRows rows_of_categories(const model::RunView& run, const report::RunFigures& figures);
PageRows rows_of_workers(const model::RunView& run, const std::vector<report::LaneEntry>& lanes);

// The figures that the page shows: {"rows": [{...}], "of": how many there are}. The row of the others has no
// figure that is no sum.
Json category_table(const report::RunFigures& figures);
Json host_table(const report::RunFigures& figures);

// Box plots of the categories with most core time: least, quartiles and most of run times in seconds, and of
// cores and memory in percent of the asked; null: not recorded.
inline constexpr std::size_t most_boxes = 30;
Json boxes_of(const report::RunFigures& figures);

}  // namespace wq::views::web
