#include "slices/queue/pass.h"

#include <utility>

#include "api/setup_error.h"
#include "base/bytes.h"

namespace wq::slices::queue {

namespace {

plan::Order order_of(const plan::Plan& plan, const SliceOptions& options, std::uint64_t seed) {
    if (options.num_epochs < 1)
        throw SetupError("num_epochs is " + std::to_string(options.num_epochs) + "; it is at least 1", 64);
    return api::checked(plan::Order::make(
        {plan.size(), static_cast<std::uint64_t>(options.num_epochs), options.shuffle, seed}));
}

plan::Cut cut_of(const SliceOptions& options) {
    return !options.num_slices           ? plan::Cut::whole
           : options.num_slices_per_work ? plan::Cut::per_source
                                         : plan::Cut::total;
}

void write(ByteWriter& out, const SliceOptions& options) {
    out.blob(options.name);
    out.blob(options.prefix);
    out.i64(options.num_epochs);
    out.boolean(options.shuffle);
    out.boolean(options.num_slices.has_value());
    out.i64(options.num_slices.value_or(0));
    out.boolean(options.num_slices_per_work);
    out.boolean(options.lines);
    out.u64(options.record_bytes);
    out.u8(static_cast<std::uint8_t>(options.delivery));
    out.boolean(options.record_each);
    out.boolean(options.must_exist.value_or(false));
}

SliceOptions read_options(ByteReader& in) {
    SliceOptions options;
    options.name = in.blob();
    options.prefix = in.blob();
    options.num_epochs = in.i64();
    options.shuffle = in.boolean();
    const bool cuts = in.boolean();
    const std::int64_t slices = in.i64();
    if (cuts) options.num_slices = slices;
    options.num_slices_per_work = in.boolean();
    options.lines = in.boolean();
    options.record_bytes = in.u64();
    const std::uint8_t delivery = in.u8();
    if (delivery > static_cast<std::uint8_t>(Delivery::at_least_once)) in.fail();
    options.delivery = static_cast<Delivery>(delivery);
    options.record_each = in.boolean();
    options.must_exist = in.boolean();
    return options;
}

void write(ByteWriter& out, const std::vector<plan::Source>& sources) {
    out.u64(sources.size());
    for (const plan::Source& source : sources) {
        out.blob(source.name);
        out.boolean(source.records.has_value());
        out.u64(source.records.value_or(0));
    }
}

std::vector<plan::Source> read_sources(ByteReader& in) {
    std::vector<plan::Source> sources;
    for (std::uint64_t left = in.count(3); left > 0 && in.ok(); --left) {
        plan::Source source{std::string(in.blob()), std::nullopt};
        const bool counted = in.boolean();
        const std::uint64_t records = in.u64();
        if (counted) source.records = records;
        sources.push_back(std::move(source));
    }
    return sources;
}

}  // namespace

Result<plan::Plan> plan_of(std::vector<plan::Source> sources, const SliceOptions& options) {
    return plan::Plan::make(std::move(sources), cut_of(options), options.num_slices.value_or(0));
}

Pass::Pass(SliceOptions options, plan::Plan plan, std::uint64_t seed)
    : options_(std::move(options)), plan_(std::move(plan)), order_(order_of(plan_, options_, seed)) {}

plan::Order Pass::order() const {
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
    ByteWriter out;
    write(out, options_);
    out.u64(seed());
    write(out, plan_.sources());
    return out.take();
}

Result<std::unique_ptr<Pass>> Pass::from_bytes(std::string_view bytes) {
    ByteReader in(bytes);
    SliceOptions options = read_options(in);
    const std::uint64_t seed = in.u64();
    std::vector<plan::Source> sources = read_sources(in);
    const Error garbage{ExitCode::bad_input, "the plan of the slices cannot be read"};
    if (!in.at_end()) return garbage;
    auto plan = plan_of(std::move(sources), options);
    if (!plan) return plan.error();
    try {
        return std::make_unique<Pass>(std::move(options), std::move(*plan), seed);
    } catch (const SetupError& error) {
        return Error{ExitCode::bad_input, error.what()};
    }
}

}  // namespace wq::slices::queue
