// Tasks of one category, which need about the same resources: what the user specifies, what was measured, and
// the requests that follow for new tasks. A value; the rules are Work Queue's ("Grouping Tasks with Similar
// Resource Needs" and "Automatic Resource Management" in its manual). Units are those of resources.h.
//
// Automatic modes (all but fixed) work in steps. While samples are collected, tasks first run with the user's
// first guess; without one, with the maximum; without that, with a whole worker. Once the category is steady,
// they run with what its mode computes from the samples (first_allocation.h), recomputed every `steady_tasks`
// completions. A task that exhausts this runs once more with the maximum, or a whole worker. A new largest
// peak restarts the collection. In modes of bucketing (bucketing.h), ten samples are enough, each completion
// changes the allocation, and a task that exhausts it gets the next larger one, as often as there is one. A
// task's own request takes precedence at every step.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "engine/model/bucketing.h"
#include "engine/model/first_allocation.h"
#include "engine/model/resources.h"

namespace wq::engine::model {

// What a task asks a worker for.
struct CategoryRequest {
    Sizes sizes;     // an amount; unsaid (as for a task without category); whole_worker
    Sizes at_least;  // if there is no amount: a worker with less cannot run the task
    bool operator==(const CategoryRequest&) const = default;
};

enum class Try : std::uint8_t { first, at_maximum };

// What becomes of a task that exhausted its resources.
enum class AfterExhaustion : std::uint8_t {
    fail,
    at_maximum,     // run it once more, with Category::at_maximum()
    larger_worker,  // the same, but only on a worker with more than it was given: it had a whole one, and no
                    // maximum forbids more
};

// The measured sizes without the monitor's own share (up to a tenth of a core above a whole number of cores);
// nothing below `unsaid`.
Sizes without_noise(Sizes measured);

// The largest known use of a resource, for display.
struct Largest {
    enum class By : std::uint8_t { nothing, user, peak, exhaustion };
    By by = By::nothing;
    std::int64_t size = unsaid;
    bool operator==(const Largest&) const = default;
};

// As `work_queue_status -A` shows it: "4" set by the user, "~1011" largest peak, ">243" exhausted, "na".
// Cores and GPUs have at most three decimals ("1.5").
std::string describe(const Largest& largest, ResourceKind kind);

class Category {
  public:
    static constexpr std::uint32_t default_steady_tasks = 25;

    // `mode`: the creator's default for its categories.
    explicit Category(std::string name = "default", AllocationMode mode = AllocationMode::fixed,
                      std::uint32_t steady_tasks = default_steady_tasks);

    // The user's settings may change at any time. Sizes replace all earlier ones; if the minimum is above the
    // maximum, the maximum holds.
    void set_max(const Sizes& sizes);
    void set_min(const Sizes& sizes);
    void set_first(const Sizes& guess);  // used while samples are collected
    void set_mode(AllocationMode mode);
    void set_max_concurrent(std::int64_t tasks);  // negative: no limit
    void set_steady_tasks(std::uint32_t tasks);   // 0: steady from the first completion on
    // Whether the resource is sized automatically. If not, tasks get the maximum, or what a task without
    // category gets. Default: cores, memory and disk are.
    void set_automatic(ResourceKind kind, bool automatic);
    // A task was submitted that itself requests these sizes.
    void submitted(const Sizes& said);

    // A task succeeded, with these peaks and run time. Tasks that failed are not counted: a quick failure
    // would suggest that all tasks need little.
    void completed(const Sizes& peaks, Duration wall);
    // An attempt was killed because it exceeded these limits; if none is named, any measured one. It is no
    // sample: its next attempt will be.
    void exhausted(const Sizes& measured, const PerResource<bool>& limits);

    const std::string& name() const { return name_; }
    AllocationMode mode() const { return mode_; }
    const Sizes& max() const { return max_; }
    const Sizes& min() const { return min_; }
    const Sizes& first() const { return first_; }
    std::int64_t max_concurrent() const { return max_concurrent_; }
    // Whether the user has limited its tasks, or has them sized.
    bool has_limits() const {
        return max_ != Sizes{} || min_ != Sizes{} || mode_ != AllocationMode::fixed || max_concurrent_ >= 0;
    }
    bool automatic(ResourceKind kind) const { return automatic_.at(kind); }

    // Whether the limit allows one more task besides `running`.
    bool has_room(std::uint64_t running) const;
    // That many completions brought no peak beyond the bucket of the largest; or there are enough to bucket.
    bool steady() const {
        if (is_bucketing(mode_)) return bucketed_ > 0;
        return completions_ > 0 && since_new_largest_ >= steady_tasks_;
    }
    // Increases when the buckets change.
    std::uint64_t bucketed() const { return bucketed_; }
    const SizeBuckets& buckets(ResourceKind kind) const { return buckets_.at(kind); }
    std::uint64_t completions() const { return completions_; }
    std::uint64_t since_new_largest() const { return since_new_largest_; }
    const PeakHistogram& peaks(ResourceKind kind) const { return peaks_.at(kind); }
    const Sizes& exhaustions() const { return largest_exhausted_; }  // the largest of each resource
    // What the mode last computed, before any bounds; unsaid: nothing yet.
    const Sizes& computed() const { return computed_; }

    // What a task with these requests asks for. `largest_worker`: the maximum of each resource over all
    // workers; a computed amount never exceeds it, but the minimum may.
    CategoryRequest first_try(const Sizes& said, const Sizes& largest_worker) const;
    // The same without computed amounts, as while samples are collected.
    CategoryRequest collecting_try(const Sizes& said) const;
    // The same for a task that exhausted its first allocation: it needs a worker with at least what was
    // measured then.
    CategoryRequest at_maximum(const Sizes& said, const Sizes& measured) const;
    // In modes of bucketing, instead of all these: the next allocation of at least what was measured.
    CategoryRequest next_bucket(const Sizes& said, const Sizes& measured, const Sizes& largest_worker) const;
    // The upper bound of such a task's allocation, however much is free: the category's maximum, if the
    // resource is sized automatically and the task does not specify it; unsaid: no bound.
    Sizes most_given(const Sizes& said) const;
    AfterExhaustion after_exhaustion(const Sizes& said, const Sizes& measured,
                                     const PerResource<bool>& limits, Try tried,
                                     const Sizes& given = {}) const;

    Largest largest(ResourceKind kind) const;

    bool operator==(const Category&) const = default;

  private:
    void compute();
    void add_sample(const Sizes& peaks);
    void bucket();
    double draw(ResourceKind kind) const;
    std::int64_t bucketed_size(ResourceKind kind, std::int64_t least, std::int64_t largest_worker) const;
    bool sizes_by_itself(ResourceKind kind) const {
        return mode_ != AllocationMode::fixed && automatic_.at(kind);
    }
    std::int64_t collecting_size(ResourceKind kind) const;
    std::int64_t first_size(ResourceKind kind, std::int64_t largest_worker) const;
    std::int64_t maximum_size(ResourceKind kind) const;
    template <class SizeOf>
    CategoryRequest request(const Sizes& said, SizeOf&& size_of) const;

    std::string name_;
    AllocationMode mode_;
    std::uint32_t steady_tasks_;
    Sizes max_, min_, first_;
    std::int64_t max_concurrent_ = -1;
    PerResource<bool> automatic_{{true, true, true, false}};
    Sizes largest_said_;  // by the tasks' own requests

    PerResource<PeakHistogram> peaks_;
    Sizes largest_exhausted_;
    Sizes computed_;
    std::uint64_t completions_ = 0;
    std::uint64_t since_new_largest_ = 0;

    // Of modes of bucketing: peaks since the mode was set, each with its number as weight.
    PerResource<PeakHistogram> samples_;
    std::uint64_t sampled_ = 0;
    std::uint64_t bucketed_ = 0;  // sampled_ when the buckets were computed
    PerResource<SizeBuckets> buckets_;
};

}  // namespace wq::engine::model
