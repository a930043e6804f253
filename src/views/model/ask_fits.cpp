#include "views/model/ask_fits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/units.h"
#include "engine/model/allocation.h"

namespace wq::views::model {

namespace {

engine::model::Resources whole_of(const Offer& offer) {
    return {Count::of_thousandths(offer.cores), offer.memory_mb, offer.disk_mb,
            Count::of_thousandths(offer.gpus), std::max<std::int64_t>(offer.coprocesses, 0)};
}

}  // namespace

std::vector<Offer> offers_of(const RunView& run) {
    const auto amount = [](std::int64_t value) {
        return std::clamp<std::int64_t>(value, 0, engine::model::most_size);
    };
    std::vector<Offer> offers;
    offers.reserve(run.workers.size());
    for (const RunWorker& worker : run.workers)
        offers.push_back({cores_of(worker), amount(worker.gpus), amount(worker.memory_mb),
                          amount(worker.disk_mb),
                          worker.coprocesses < 0 ? not_recorded : amount(worker.coprocesses)});
    std::set<std::pair<std::uint32_t, std::uint32_t>> able;  // worker and ask
    for (const RunAttempt& attempt : run.attempts)
        if (attempt.ask < run.asks.size() && attempt.worker < offers.size() && attempt.dispatched > 0 &&
            !run.asks[attempt.ask].features.empty())
            able.emplace(attempt.worker, attempt.ask);
    for (const auto& [worker, ask] : able) offers[worker].able_asks.push_back(ask);
    return offers;
}

std::uint32_t AskFits::place_of(const Offer& offer) {
    const auto [at, is_new] = places_.try_emplace(offer, static_cast<std::uint32_t>(offers_.size()));
    if (is_new) offers_.push_back({offer, std::vector<Fit>(asks_.size())});
    return at->second;
}

const AskFits::Fit& AskFits::fit_of(std::uint32_t ask, Offered& offered) const {
    Fit& fit = offered.fits[ask];
    if (fit.is_known) return fit;
    const engine::model::Resources whole = whole_of(offered.offer);
    const engine::model::Needs& needs = asks_[ask].needs;
    fit.is_known = true;
    fit.takes = engine::model::allocate(needs, whole);
    fit.ever = engine::model::ever_fits(needs, whole) && fit.takes.fits_in(whole);
    return fit;
}

AccountLine AskFits::line_of(std::uint32_t ask, const FreeShare& share) {
    if (ask >= asks_.size()) return AccountLine::unknown;
    Offered& offered = offers_[share.offer];
    if (asks_[ask].needs.remote() && offered.offer.coprocesses < 0) return AccountLine::unknown;
    const Fit& fit = fit_of(ask, offered);
    if (!fit.ever) return AccountLine::fits_nowhere;
    const std::vector<std::uint32_t>& able = offered.offer.able_asks;
    if (!asks_[ask].features.empty() && !std::binary_search(able.begin(), able.end(), ask))
        return AccountLine::unknown;
    const engine::model::Resources whole = whole_of(offered.offer);
    const auto lacks = [](std::int64_t takes, std::int64_t all, std::int64_t taken) {
        return takes > 0 && takes > all - taken;
    };
    if (lacks(fit.takes.memory_mb, whole.memory_mb, share.taken.memory_mb))
        return lacks(fit.takes.memory_mb, whole.memory_mb, share.taken.memory_peak_mb)
                   ? AccountLine::packing_memory
                   : AccountLine::packing_memory_held;
    if (lacks(fit.takes.gpus.thousandths(), whole.gpus.thousandths(), share.taken.gpus))
        return AccountLine::packing_gpus;
    if (lacks(fit.takes.disk_mb, whole.disk_mb, share.taken.disk_mb)) return AccountLine::packing_disk;
    if (lacks(fit.takes.coprocesses, whole.coprocesses, share.taken.coprocesses))
        return AccountLine::packing_coprocesses;
    if (fit.takes.cores.thousandths() > share.cores) return AccountLine::packing_cores;
    return AccountLine::dispatch;
}

std::int64_t AskFits::coprocesses_of(std::uint32_t ask) const {
    return ask < asks_.size() ? std::max<std::int64_t>(asks_[ask].needs.coprocesses, 0) : 0;
}

}  // namespace wq::views::model
