// A category whose tasks complete.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "engine/model/task_category.h"

namespace wq::engine::model {

inline void PrintTo(const Sizes& sizes, std::ostream* out) {
    *out << "cores " << sizes.cores << " memory " << sizes.memory_mb << " disk " << sizes.disk_mb << " gpus "
         << sizes.gpus;
}
inline void PrintTo(const CategoryRequest& request, std::ostream* out) {
    PrintTo(request.sizes, out);
    *out << "; at least ";
    PrintTo(request.at_least, out);
}

}  // namespace wq::engine::model

namespace wq::engine::model::testing {

inline const Sizes nothing;
inline constexpr std::array automatic_modes{AllocationMode::max, AllocationMode::min_waste,
                                            AllocationMode::max_throughput};

inline PerResource<bool> exceeding(ResourceKind kind) {
    PerResource<bool> limits;
    limits.at(kind) = true;
    return limits;
}

class CategoryTest : public ::testing::Test {
  protected:
    void complete(int tasks, const Sizes& peaks) {
        for (int i = 0; i < tasks; ++i) category_.completed(peaks, std::chrono::seconds(1));
    }
    // The first request of a task that specifies `said`.
    Sizes first(const Sizes& said = {}) const { return category_.first_try(said, largest_worker_).sizes; }
    Sizes at_maximum(const Sizes& said = {}) const { return category_.at_maximum(said, {}).sizes; }
    std::string shown(ResourceKind kind) const { return describe(category_.largest(kind), kind); }
    AfterExhaustion after(std::int64_t memory_mb, const Sizes& said = {}, Try tried = Try::first) const {
        return category_.after_exhaustion(said, {.memory_mb = memory_mb}, exceeding(ResourceKind::memory),
                                          tried);
    }

    Category category_{"analysis", AllocationMode::max_throughput};
    Sizes largest_worker_{.cores = 64'000, .memory_mb = 256'000, .disk_mb = 1'000'000, .gpus = 4000};
};

}  // namespace wq::engine::model::testing
