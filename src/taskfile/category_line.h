// `#WQ-CATEGORY NAME ...` lines: what holds for the tasks of one category together.
//
//   #WQ-CATEGORY align cores=2 memory=4G min memory=512M first memory=1G mode=max-throughput concurrent=10
//
// `cores`, `memory`, `disk` and `gpus` are those of `#WQ`; they belong to the `max`, `min` or `first` before
// them, and to `max` where there is none. What a line says of one of the three replaces all that was said of
// it before; alone, `max` takes the maximum away. Modes: fixed, max, min-waste, max-throughput.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/count.h"
#include "base/result.h"

namespace wq::taskfile {

struct CategoryResources {  // unset: not said
    std::optional<Count> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<Count> gpus;
    bool operator==(const CategoryResources&) const = default;
};

enum class CategoryMode : std::uint8_t { fixed, max, min_waste, max_throughput };

struct CategoryLine {  // unset: stays as it is
    static constexpr std::int64_t unlimited = -1;

    std::string name;
    std::optional<CategoryResources> max;
    std::optional<CategoryResources> min;
    std::optional<CategoryResources> first;
    std::optional<CategoryMode> mode;
    std::optional<std::int64_t> concurrent;  // so many run at once; `concurrent=`: unlimited
    bool operator==(const CategoryLine&) const = default;
};

// The words behind `#WQ-CATEGORY`; from a lone `#` on they are a remark. Error (bad_input): the message
// alone, without file and line.
Result<CategoryLine> parse_category_line(std::string_view words);

// The least and the most of each category, as the lines of a list say them one after the other.
class CategoryBounds {
  public:
    // Error (bad_input): the least is above the most; the message alone, with the other line's number.
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

}  // namespace wq::taskfile
