// The order that starts next, by the launcher's rule for sums: the head of the queue, or a later one that
// uses nothing that the head waits for. Simulations do not model seats on cores and GPUs.
#pragma once

#include <algorithm>

#include "engine/model/resources.h"

namespace wq::sim {

inline bool may_pass(const engine::model::Resources& head, const engine::model::Resources& give,
                     const engine::model::Resources& free) {
    const auto leaves_enough = [](const auto& waits_for, const auto& takes, const auto& has) {
        return waits_for > has ? takes <= 0 : waits_for + takes <= has;
    };
    return give.fits_in(free) && leaves_enough(head.cores, give.cores, free.cores) &&
           leaves_enough(head.memory_mb, give.memory_mb, free.memory_mb) &&
           leaves_enough(head.disk_mb, give.disk_mb, free.disk_mb) &&
           leaves_enough(head.gpus, give.gpus, free.gpus) &&
           leaves_enough(head.coprocesses, give.coprocesses, free.coprocesses);
}

// One of [first, last); `give_of` returns its allocation; `last`: none.
template <class Iterator, class GiveOf>
Iterator next_to_start(Iterator first, Iterator last, const engine::model::Resources& free,
                       GiveOf&& give_of) {
    if (first == last) return last;
    const engine::model::Resources head = give_of(*first);
    if (head.fits_in(free)) return first;
    return std::find_if(first + 1, last,
                        [&](const auto& each) { return may_pass(head, give_of(each), free); });
}

}  // namespace wq::sim
