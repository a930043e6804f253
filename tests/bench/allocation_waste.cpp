// What each mode of allocation wastes, and how often it tries a task again: memory of 5000 tasks that end one
// after the other, on workers of 16 GB. One line for each kind of tasks and mode: allocated over used memory
// (each times the run time; failed tries count), and retries for 100 tasks.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>

#include "engine/model/task_category.h"

namespace {

using namespace wq;
using namespace wq::engine::model;

constexpr std::int64_t worker_mb = 16'000;
constexpr int tasks = 5000;

using Random = std::mt19937_64;
using Peak = std::function<std::int64_t(Random&, int)>;

void measure(const char* what, AllocationMode mode, const Peak& peak) {
    Category category("bench", mode);
    Random random(1);
    const Sizes largest{.cores = 16'000, .memory_mb = worker_mb, .disk_mb = worker_mb};
    PerResource<bool> memory;
    memory.at(ResourceKind::memory) = true;
    double allocated = 0;
    double used = 0;
    int retries = 0;
    for (int task = 0; task < tasks; ++task) {
        const std::int64_t needs = std::clamp<std::int64_t>(peak(random, task), 1, worker_mb);
        const auto next = [&](std::int64_t least) {
            const CategoryRequest request = is_bucketing(mode)
                                                ? category.next_bucket({}, {.memory_mb = least}, largest)
                                            : least < 0 ? category.first_try({}, largest)
                                                        : category.at_maximum({}, {.memory_mb = least});
            return request.sizes.memory_mb == whole_worker ? worker_mb : request.sizes.memory_mb;
        };
        std::int64_t given = next(unsaid);
        while (given < needs) {
            ++retries;
            allocated += static_cast<double>(given);
            category.exhausted({.memory_mb = given + 1}, memory);
            given = next(given + 1);
        }
        allocated += static_cast<double>(given);
        used += static_cast<double>(needs);
        category.completed({.memory_mb = needs}, std::chrono::seconds(1));
    }
    std::printf("%-12s %-24.*s %6.2f times what was used, %6.1f retries for 100 tasks\n", what,
                static_cast<int>(name_of(mode).size()), name_of(mode).data(), allocated / used,
                100.0 * retries / tasks);
}

}  // namespace

int main() {
    const auto normal = [](Random& random, double mean, double deviation) {
        return static_cast<std::int64_t>(std::normal_distribution<>(mean, deviation)(random));
    };
    const std::pair<const char*, Peak> kinds[]{
        {"alike", [&](Random& random, int) { return normal(random, 2000, 100); }},
        {"two sizes",
         [&](Random& random, int) {
             return random() % 4 == 0 ? normal(random, 8000, 300) : normal(random, 1000, 100);
         }},
        {"long tail",
         [](Random& random, int) {
             return static_cast<std::int64_t>(500 + std::exponential_distribution<>(1.0 / 1500)(random));
         }},
        {"phases",
         [&](Random& random, int task) { return normal(random, 1000.0 * (1 + task / 1000 % 5), 200); }}};
    for (const auto& [what, peak] : kinds)
        for (int mode = 1; mode <= static_cast<int>(last_mode); ++mode)
            measure(what, static_cast<AllocationMode>(mode), peak);
    return 0;
}
