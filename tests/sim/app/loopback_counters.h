// Counters in this process, which fail as often as they are told to.
#pragma once

#include <functional>
#include <map>

#include "transport/counters.h"

namespace wq::sim {

class LoopbackCounters final : public transport::Counters {
  public:
    // `fails` is asked before every addition.
    explicit LoopbackCounters(std::function<bool()> fails) : fails_(std::move(fails)) {}

    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        if (fails_()) return Error{ExitCode::unreachable, "the weather"};
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
