#include "core/allocation.h"

#include <algorithm>

namespace wq::core {

namespace {

__extension__ using Wide = __int128;  // a product of two amounts

// The part of a worker that is due: num / den, at most 1.
struct Share {
    std::int64_t num = 1;
    std::int64_t den = 1;
    std::int64_t of(std::int64_t whole) const { return static_cast<std::int64_t>(Wide{whole} * num / den); }
};

bool is_less(const Share& a, const Share& b) {
    return Wide{a.num} * b.den < Wide{b.num} * a.den;
}

// What of the worker the task asks for most; none: it asks for nothing.
class Proportion {
  public:
    void consider(std::int64_t need, std::int64_t whole) {
        if (need <= 0) return;
        asks_ = true;
        if (need >= whole)
            largest_ = {1, 1};
        else if (is_less(largest_, {need, whole}))
            largest_ = {need, whole};
    }
    bool asks() const { return asks_; }
    Share exact() const { return largest_; }
    // One n-th, where n such tasks fit.
    Share whole_task() const { return {1, largest_.num == 0 ? 1 : largest_.den / largest_.num}; }

  private:
    Share largest_{0, 1};
    bool asks_ = false;
};

Proportion proportion(const Needs& needs, const Resources& whole) {
    Proportion result;
    result.consider(needs.cores.thousandths(), whole.cores.thousandths());
    result.consider(needs.memory_mb, whole.memory_mb);
    result.consider(needs.disk_mb, whole.disk_mb);
    result.consider(needs.gpus.thousandths(), whole.gpus.thousandths());
    return result;
}

// A core where nothing but memory or disk is said.
Resources as_said(const Needs& needs) {
    Resources share{needs.cores, std::max<std::int64_t>(needs.memory_mb, 0),
                    std::max<std::int64_t>(needs.disk_mb, 0), std::max<Count>(needs.gpus, 0)};
    if (needs.cores < 0) share.cores = share.gpus > 0 ? 0 : 1;
    return share;
}

}  // namespace

Resources allocate(const Needs& needs, const Resources& whole, const AllocationRules& rules) {
    Resources give = as_said(needs);
    if (needs.weightless()) return give;
    const Proportion asked = proportion(needs, whole);
    if (!asked.asks()) return {whole.cores, whole.memory_mb, whole.disk_mb, 0};
    if (!rules.proportional) {
        const Count cores = std::min(give.cores, whole.cores);
        if (give.memory_mb == 0 && cores > 0)
            give.memory_mb = Share{cores.thousandths(), whole.cores.thousandths()}.of(whole.memory_mb);
        return give;
    }
    const Share share = rules.whole_tasks ? asked.whole_task() : asked.exact();
    if (give.cores > 0) give.cores = std::max(give.cores, Count(share.of(whole.cores.thousandths()) / 1000));
    give.memory_mb = std::max(give.memory_mb, share.of(whole.memory_mb));
    give.disk_mb = std::max(give.disk_mb, share.of(whole.disk_mb));
    return give;
}

bool ever_fits(const Needs& needs, const Resources& whole) {
    return as_said(needs).fits_in(whole) || !(needs.weightless() || proportion(needs, whole).asks());
}

}  // namespace wq::core
