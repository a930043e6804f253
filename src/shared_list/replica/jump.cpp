#include "shared_list/replica/jump.h"

#include <utility>

#include "base/units.h"

namespace wq::shared_list::replica {

Result<std::optional<Jump>> jump_of(const JumpVariables& set, text::WorkerId id,
                                    const store::ListPlace& place) {
    const bool jumps = !set.jumpto.empty();
    if (!jumps && set.newtask.empty() && set.newid.empty()) return std::optional<Jump>();
    Jump jump{place, std::nullopt, !jumps && set.newtask.empty()};
    if (!jump.same_list) {
        auto next = store::list_place(jumps ? set.jumpto : set.newtask, place.host);
        if (!next) return next.error();
        jump.place = std::move(*next);
    }
    if (jumps) {
        jump.id = id;
    } else if (!set.newid.empty()) {
        const auto number = parse_count(set.newid, 0, std::int64_t{text::no_worker} - 1);
        if (!number) return Error{number.error().code, "newid: " + number.error().message};
        jump.id = static_cast<text::WorkerId>(*number);
    }
    return std::optional(std::move(jump));
}

}  // namespace wq::shared_list::replica
