#include "slices/plan/order.h"

#include <utility>

namespace wq::slices::plan {

Result<Order> Order::make(const OrderOptions& options) {
    if (options.slices == 0) return Error{ExitCode::usage, "there is nothing to hand out"};
    if (options.epochs == 0) return Error{ExitCode::usage, "the number of epochs is 0; it is at least 1"};
    if (options.slices > Permutation::largest / options.epochs)
        return Error{ExitCode::usage, "too many slices: " + std::to_string(options.slices) + " in each of " +
                                          std::to_string(options.epochs) + " epochs; at most 2^62 in all"};
    return Order(options);
}

Order::Order(const OrderOptions& options)
    : options_(options), permutation_(of(0)), ahead_at_(positions()) {}  // none is ahead

Permutation Order::of(std::uint64_t epoch) const {
    return {options_.slices, mixed(options_.seed, epoch)};
}

std::uint64_t Order::slice_at(std::uint64_t position) {
    if (position >= ahead_at_ && position - ahead_at_ < ahead_.size()) return ahead_[position - ahead_at_];
    const std::uint64_t epoch = epoch_of(position);
    if (!options_.shuffle) return position - epoch * options_.slices;
    if (epoch != epoch_) permutation_ = of(epoch), epoch_ = epoch;
    const std::uint64_t place = position - epoch * options_.slices;
    const bool goes_on = position == std::exchange(last_, position) + 1;
    if (!goes_on || place + ahead_.size() > options_.slices) return permutation_.at(place);
    ahead_at_ = position;
    last_ = position + ahead_.size() - 1;
    ahead_ = permutation_.from(place);
    return ahead_.front();
}

}  // namespace wq::slices::plan
