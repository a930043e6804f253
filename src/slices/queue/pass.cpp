#include "slices/queue/pass.h"

#include <utility>

#include "api/setup_error.h"
#include "base/fields.h"

namespace wq {

constexpr Delivery last_of(Delivery) {
    return Delivery::at_least_once;
}

// Without what only the process that has the works needs.
template <class V>
void fields(SliceOptions& options, V& visit) {
    bool cuts = options.num_slices.has_value();
    std::int64_t slices = options.num_slices.value_or(0);
    bool must_exist = options.must_exist.value_or(false);
    visit(options.name, options.prefix, options.num_epochs, options.shuffle, cuts, slices,
          options.num_slices_per_work, options.lines, options.record_bytes, options.delivery,
          options.record_each, must_exist);
    if constexpr (V::reads) {
        if (cuts) options.num_slices = slices;
        options.must_exist = must_exist;
    }
}

}  // namespace wq

namespace wq::slices::plan {

template <class V>
void fields(PlanSource& source, V& visit) {
    bool counted = source.records.has_value();
    std::uint64_t records = source.records.value_or(0);
    visit(source.name, counted, records);
    if (V::reads && counted) source.records = records;
}

}  // namespace wq::slices::plan

namespace wq::slices::queue {

namespace {

plan::SliceOrder order_of(const plan::Plan& plan, const SliceOptions& options, std::uint64_t seed) {
    if (options.num_epochs < 1)
        throw SetupError("num_epochs is " + std::to_string(options.num_epochs) + "; it is at least 1", 64);
    return api::checked(plan::SliceOrder::make(
        {plan.size(), static_cast<std::uint64_t>(options.num_epochs), options.shuffle, seed}));
}

plan::Cut cut_of(const SliceOptions& options) {
    return !options.num_slices           ? plan::Cut::whole
           : options.num_slices_per_work ? plan::Cut::per_source
                                         : plan::Cut::total;
}

}  // namespace

Result<plan::Plan> plan_of(std::vector<plan::PlanSource> sources, const SliceOptions& options) {
    return plan::Plan::make(std::move(sources), cut_of(options), options.num_slices.value_or(0));
}

Pass::Pass(SliceOptions options, plan::Plan plan, std::uint64_t seed)
    : options_(std::move(options)), plan_(std::move(plan)), order_(order_of(plan_, options_, seed)) {}

plan::SliceOrder Pass::order() const {
    const std::lock_guard lock(mutex_);
    return order_;
}

Slice Pass::slice_at(std::uint64_t position) const {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = order_.slice_at(position);
    lock.unlock();
    const plan::Slice found = plan_.at(number);
    Slice slice;
    slice.work = options_.prefix + found.source;
    if (found.records) slice.start = found.records->first, slice.end = found.records->end;
    slice.epoch = epoch_of(position);
    slice.position = position;
    return slice;
}

std::uint64_t Pass::digest() const {
    std::uint64_t bits = plan_.digest();
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(options_.num_epochs), static_cast<std::uint64_t>(options_.shuffle),
          static_cast<std::uint64_t>(options_.delivery), static_cast<std::uint64_t>(options_.tickets),
          static_cast<std::uint64_t>(options_.record_each), options_.seed ? *options_.seed + 1 : 0})
        bits = plan::mixed(bits, part);
    return bits;
}

std::string Pass::bytes() const {
    return bytes_of(options_, seed(), plan_.sources());
}

Result<std::unique_ptr<Pass>> Pass::from_bytes(std::string_view bytes) {
    SliceOptions options;
    std::uint64_t seed = 0;
    std::vector<plan::PlanSource> sources;
    if (!fields_are(bytes, options, seed, sources))
        return Error{ExitCode::bad_input, "the plan of the slices cannot be read"};
    auto plan = plan_of(std::move(sources), options);
    if (!plan) return plan.error();
    try {
        return std::make_unique<Pass>(std::move(options), std::move(*plan), seed);
    } catch (const SetupError& error) {
        return Error{ExitCode::bad_input, error.what()};
    }
}

}  // namespace wq::slices::queue
