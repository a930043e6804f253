// Whether a task of an ask would find room on a worker, and what it would lack.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/model/resources.h"
#include "views/model/account.h"
#include "views/model/holders.h"
#include "views/model/run_view.h"

namespace wq::views::model {

// What a worker has; -1 coprocesses: not known.
struct Offer {
    std::int64_t cores = 0, gpus = 0, memory_mb = 0, disk_mb = 0, coprocesses = 0;
    // Asks with features of which it got a task at some time: it has what they ask for. What features a
    // worker has is not recorded. Ascending.
    std::vector<std::uint32_t> able_asks{};
    auto operator<=>(const Offer&) const = default;
};
// Of each worker, in their order.
std::vector<Offer> offers_of(const RunView& run);

// A worker that takes tasks and has free cores.
struct FreeShare {
    std::uint32_t offer = 0;  // AskFits::place_of
    std::int64_t cores = 0;   // free, thousandths
    Amounts taken;            // of the other resources
    auto operator<=>(const FreeShare&) const = default;
};

// Of the asks of a run. An ask is meant by its place in RunView::asks; one beyond them is an ask of which
// nothing is known.
class AskFits {
  public:
    explicit AskFits(const std::vector<RunAsk>& asks) : asks_(asks) {}

    std::uint32_t place_of(const Offer& offer);

    // dispatch, one of the packing lines, fits_nowhere or unknown.
    AccountLine line_of(std::uint32_t ask, const FreeShare& share);

    // Coprocesses that a task of the ask takes.
    std::int64_t coprocesses_of(std::uint32_t ask) const;

  private:
    struct Fit {
        bool is_known = false;
        bool ever = false;
        engine::model::Resources takes;  // the engine's rules by default
    };
    struct Offered {
        Offer offer;
        std::vector<Fit> fits;  // by ask
    };
    const Fit& fit_of(std::uint32_t ask, Offered& offered) const;

    const std::vector<RunAsk>& asks_;
    std::map<Offer, std::uint32_t> places_;
    std::vector<Offered> offers_;
};

}  // namespace wq::views::model
