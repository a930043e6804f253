// `#WQ-CATEGORY NAME ...` lines: settings for all tasks of a category.
//
//   #WQ-CATEGORY align cores=2 memory=4G min memory=512M first memory=1G mode=max-throughput concurrent=10
//
// `cores`, `memory`, `disk` and `gpus` are those of `#WQ`; they belong to the `max`, `min` or `first` before
// them, by default to `max`. A line that sets one of the three replaces all its earlier values; `max` alone
// removes the maximum. Modes: name_of() the core's AllocationMode.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "engine/model/first_allocation.h"

namespace wq::engine::tasklist {

struct CategoryResources {  // unset: unspecified
    std::optional<Count> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<Count> gpus;
    bool operator==(const CategoryResources&) const = default;
};

struct CategoryLine {  // unset: unchanged
    static constexpr std::int64_t unlimited = -1;

    std::string name;
    std::optional<CategoryResources> max;
    std::optional<CategoryResources> min;
    std::optional<CategoryResources> first;
    std::optional<model::AllocationMode> mode;
    std::optional<std::int64_t> concurrent;  // limit of running tasks; `concurrent=`: unlimited
    bool operator==(const CategoryLine&) const = default;
};

// The words after `#WQ-CATEGORY`; a word `#` starts a comment. Error (bad_input): the message without file
// and line.
Result<CategoryLine> parse_category_line(std::string_view words);

// The minimum and maximum of each category as a list's lines set them.
class CategoryBounds {
  public:
    // Error (bad_input): the minimum is above the maximum; the message without file, with the other line's
    // number.
    Status take(const CategoryLine& line, std::uint64_t number);

  private:
    struct Said {
        CategoryResources sizes{};
        std::uint64_t line = 0;
    };
    struct Known {
        Said max{};
        Said min{};
    };
    std::map<std::string, Known> known_;
};

}  // namespace wq::engine::tasklist
