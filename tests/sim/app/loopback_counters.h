// Counters within this process that fail on request.
#pragma once

#include <functional>
#include <map>

#include "ranks/tickets/sealed_batch.h"

namespace wq::sim {

class LoopbackCounters final : public ranks::tickets::Counters {
  public:
    // `fails` is called before every addition.
    explicit LoopbackCounters(std::function<bool()> fails) : fails_(std::move(fails)) {}

    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        if (fails_()) return Error{ExitCode::unreachable, "the faults"};
        ++additions_;
        return std::exchange(values_[counter], values_[counter] + amount);
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        return std::exchange(values_[counter], value);
    }

    std::uint64_t additions() const { return additions_; }

  private:
    std::function<bool()> fails_;
    std::map<std::size_t, std::uint64_t> values_;
    std::uint64_t additions_ = 0;
};

}  // namespace wq::sim
