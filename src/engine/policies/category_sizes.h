// Decides which resources tasks ask for: from their own request, their category's settings, and the measured
// usage of other tasks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class CategorySizes : Policy {
  public:
    explicit CategorySizes(Shared& shared) : Policy(shared), categories_(shared.state.categories) {}

    void on(const CategorySet& event);

    void shapes_added();
    void succeeded(TaskId task, const Outcome& outcome);
    bool exhausted(TaskId task, Outcome& outcome);

    // How many connected workers can hold the largest of its tasks.
    std::int64_t able_workers(CategoryId category) const;

    // Called before and after dispatching, because the pool may have changed and tasks may have ended where
    // their number is limited.
    void look_at_pool();
    void awaken_those_with_room();
    void note_full();

  private:
    CategoryRequest request_of(const Shape& shape, const Category& category) const;
    Ask ask_of(const Shape& shape, const Category& category) const;
    void ask_again(const CategoryState& state);
    void ask_anew(CategoryId category);  // the same, and tells so
    bool asks_otherwise(const CategoryState& state) const;
    std::optional<Shape> asks_for_more(TaskId task, const Outcome& outcome);
    void try_with_more(TaskId task, Shape larger, const Outcome& outcome);
    void awaken_all(const CategoryState& category);
    bool copy_has(const Ask& ask, TaskId task) const;
    std::string beyond_its_maximum(TaskId task, const Outcome& outcome) const;

    Categories& categories_;
    std::vector<CategoryId> automatic_;  // whose tasks get measured sizes
    std::set<CategoryId> full_;          // that run as many tasks as they may
    bool run_is_full_ = false;           // it runs as many tasks as it may
    Resources largest_;                  // of any worker: limits computed sizes
    std::uint64_t largest_of_ = 0;       // pool version of largest_
};

}  // namespace wq::engine::policies
