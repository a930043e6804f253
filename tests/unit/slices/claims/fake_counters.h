// Counters in memory. Each caller has a FakeCounters of its own on the same values, to be disturbed by
// itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "ranks/tickets/sealed_batch.h"

namespace wq::slices::claims {

using CounterValues = std::array<std::uint64_t, ranks::tickets::BatchCounter::counters>;

class FakeCounters final : public ranks::tickets::Counters {
  public:
    explicit FakeCounters(CounterValues& values) : values_(values) {}

    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        const std::uint64_t before = std::exchange(values_[counter], values_[counter] + amount);
        if (after) after();
        if (fails) return Error{ExitCode::unreachable, "the network is gone"};
        return before;
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        if (fails) return Error{ExitCode::unreachable, "the network is gone"};
        return std::exchange(values_[counter], value);
    }

    bool fails = false;
    std::function<void()> after;  // an addition, before its caller learns of it

  private:
    CounterValues& values_;
};

}  // namespace wq::slices::claims
