// The order of slices: epoch after epoch, each a permutation of its own. A position counts over all epochs;
// everybody computes its slice alone. An Order keeps what it needs for the last epoch, so each thread has its
// own.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "slices/plan/permutation.h"

namespace wq::slices::plan {

struct OrderOptions {
    std::uint64_t slices = 1;  // of an epoch
    std::uint64_t epochs = 1;
    bool shuffle = true;     // otherwise every epoch is 0, 1, 2, ...
    std::uint64_t seed = 0;  // equal seeds: equal orders, for any number of ranks
};

class Order {
  public:
    // Error (usage): no slices, no epochs, or more than 2^62 positions.
    static Result<Order> make(const OrderOptions& options);

    std::uint64_t slices() const { return options_.slices; }
    std::uint64_t epochs() const { return options_.epochs; }
    std::uint64_t positions() const { return options_.slices * options_.epochs; }
    std::uint64_t seed() const { return options_.seed; }
    std::uint64_t epoch_of(std::uint64_t position) const { return position / options_.slices; }
    // position < positions(). Fastest one after the other.
    std::uint64_t slice_at(std::uint64_t position);

  private:
    explicit Order(const OrderOptions& options);
    Permutation of(std::uint64_t epoch) const;

    OrderOptions options_;
    std::uint64_t epoch_ = 0;  // of permutation_
    Permutation permutation_;
    std::uint64_t last_ = 0;  // position
    std::uint64_t ahead_at_;  // position of the first of ahead_
    Permutation::Elements ahead_{};
};

}  // namespace wq::slices::plan
