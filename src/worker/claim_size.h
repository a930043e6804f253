// Computes how many indexes of a range a rank claims at once, from their run times: enough to make the cost
// of claiming negligible, few enough that all ranks end together.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wq::worker {

class ClaimSize {
  public:
    void begin() { *this = {}; }  // another function
    void ended(std::uint64_t count, std::int64_t wall_us) {
        if (count == 0) return;
        // If less than a microsecond was measured, half a microsecond is a good guess.
        const double mean = std::max(static_cast<double>(wall_us), 0.5) / static_cast<double>(count);
        mean_us_ = mean_us_ < 0 ? mean : mean_us_ + 0.3 * (mean - mean_us_);
        trust_ = std::min(8 * trust_, most);
    }
    // `left`: indexes left in the node's word, for `ranks` ranks.
    std::uint64_t claim(std::uint64_t left, std::uint64_t ranks) const {
        if (mean_us_ < 0) return 1;
        const double fits = claim_us / mean_us_;
        const std::uint64_t by_time = fits < 1 ? 1 : fits > double(trust_) ? trust_ : std::uint64_t(fits);
        return std::clamp<std::uint64_t>(left / (2 * ranks), 1, by_time);
    }

  private:
    static constexpr double claim_us = 25'000;
    static constexpr std::uint64_t most = 1u << 20;
    double mean_us_ = -1;
    std::uint64_t trust_ = 1;  // claims grow eightfold at most, because the first few may be untypical
};

}  // namespace wq::worker
