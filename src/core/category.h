// Tasks of one category, which need about the same: what the user says of them, what was measured of them,
// and what follows for those to come. A value; the rules are Work Queue's ("Grouping Tasks with Similar
// Resource Needs" and "Automatic Resource Management" in its manual). Amounts are those of sizes.h.
//
// Automatic modes (all but fixed) go in steps. While samples are collected, tasks are tried with the first
// allocation that the user guesses; else the maximum; else a whole worker. Once the category is steady, they
// are tried with what its mode computes of the samples (first_allocation.h), anew every `steady_tasks`
// completions. What exhausts that is run once more with the maximum, or a whole worker. A peak beyond all
// that was seen begins the collection anew. What a task says itself is its own, at every step.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "core/first_allocation.h"
#include "core/peak_histogram.h"
#include "core/sizes.h"

namespace wq::core {

// What a task asks a worker for.
struct CategoryRequest {
    Sizes sizes;     // an amount; or unsaid: as for a task of no category; or whole_worker
    Sizes at_least;  // where there is no amount: a worker that cannot give so much will not do
    bool operator==(const CategoryRequest&) const = default;
};

enum class Try : std::uint8_t { first, at_maximum };

// What becomes of a task that exhausted its resources.
enum class AfterExhaustion : std::uint8_t {
    fail,
    at_maximum,     // it is run once more, with Category::at_maximum()
    larger_worker,  // so too, but only where a worker has more than it was given: it had a whole one, and no
                    // maximum forbids more
};

// What was measured, where up to a tenth of a core above a whole number of them is the monitor's own share;
// and nothing below `unsaid`.
Sizes without_noise(Sizes measured);

// What is known of the most that a task takes, for people.
struct Largest {
    enum class By : std::uint8_t { nothing, user, peak, exhaustion };
    By by = By::nothing;
    std::int64_t size = unsaid;
    bool operator==(const Largest&) const = default;
};

// As `work_queue_status -A` shows it: "4" said by the user, "~1011" the largest peak, ">243" exhausted, "na".
// Cores and GPUs with at most three decimals ("1.5").
std::string describe(const Largest& largest, ResourceKind kind);

class Category {
  public:
    static constexpr std::uint32_t default_steady_tasks = 25;

    // `mode` is the default of whoever creates categories.
    explicit Category(std::string name = "default", AllocationMode mode = AllocationMode::fixed,
                      std::uint32_t steady_tasks = default_steady_tasks);

    // What the user says, at any time. Sizes replace all that were said before; where the minimum is above
    // the maximum, the maximum holds.
    void set_max(const Sizes& sizes);
    void set_min(const Sizes& sizes);
    void set_first(const Sizes& guess);  // holds while samples are collected
    void set_mode(AllocationMode mode);
    void set_max_concurrent(std::int64_t tasks);  // negative: as many as there is room for
    void set_steady_tasks(std::uint32_t tasks);   // 0: steady from the first completion on
    // Whether it is sized automatically; else it is the maximum, or as for a task of no category. From the
    // start: cores, memory and disk.
    void set_automatic(ResourceKind kind, bool automatic);
    // A task was submitted that says this itself.
    void submitted(const Sizes& said);

    // A task succeeded; it took so much at most, and ran for so long. (One that failed at once would say of
    // all that they take little.)
    void completed(const Sizes& peaks, Duration wall);
    // A try ended as it took more of these than it was given; none named: any that was measured. It is no
    // sample: its next try will be.
    void exhausted(const Sizes& measured, const PerResource<bool>& limits);

    const std::string& name() const { return name_; }
    AllocationMode mode() const { return mode_; }
    const Sizes& max() const { return max_; }
    const Sizes& min() const { return min_; }
    const Sizes& first() const { return first_; }
    std::int64_t max_concurrent() const { return max_concurrent_; }
    bool automatic(ResourceKind kind) const { return automatic_.at(kind); }

    // Whether one more may run beside so many of them.
    bool has_room(std::uint64_t running) const;
    // So many completions brought no peak beyond the bucket of the largest.
    bool steady() const { return completions_ > 0 && since_new_largest_ >= steady_tasks_; }
    std::uint64_t completions() const { return completions_; }
    std::uint64_t since_new_largest() const { return since_new_largest_; }
    const PeakHistogram& peaks(ResourceKind kind) const { return peaks_.at(kind); }
    const Sizes& exhaustions() const { return largest_exhausted_; }  // the largest of each
    // What the mode last computed, before any bounds; unsaid: nothing yet.
    const Sizes& computed() const { return computed_; }

    // What a task that says so much itself asks for. `largest_worker`: the most that any worker has of each;
    // nothing computed is above it, but for the minimum.
    CategoryRequest first_try(const Sizes& said, const Sizes& largest_worker) const;
    // The same without what was computed: as while samples are collected.
    CategoryRequest collecting_try(const Sizes& said) const;
    // The same once it has exhausted its first try: a worker without what was measured then will not do.
    CategoryRequest at_maximum(const Sizes& said, const Sizes& measured) const;
    // More than this such a task is never given, whatever is free: its maximum, where it is sized
    // automatically and does not say itself what it needs; unsaid: no bound.
    Sizes most_given(const Sizes& said) const;
    AfterExhaustion after_exhaustion(const Sizes& said, const Sizes& measured,
                                     const PerResource<bool>& limits, Try tried) const;

    Largest largest(ResourceKind kind) const;

    bool operator==(const Category&) const = default;

  private:
    void compute();
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
    Sizes largest_said_;  // by tasks themselves

    PerResource<PeakHistogram> peaks_;
    Sizes largest_exhausted_;
    Sizes computed_;
    std::uint64_t completions_ = 0;
    std::uint64_t since_new_largest_ = 0;
};

}  // namespace wq::core
