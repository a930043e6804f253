// What a `#!` line has told its worker to do next: to go to another list, or to have another id.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "shared_list/store/list_place.h"
#include "shared_list/text/marked_line.h"

namespace wq::shared_list::replica {

// Variables of the worker's shell after the line; "": not set.
struct JumpVariables {
    std::string newtask;  // a list
    std::string newid;
    std::string jumpto;  // a list, where it has the same id
};

struct Jump {
    store::ListPlace place;
    std::optional<text::WorkerId> id;  // none: the next one
    bool same_list = false;
};

// `id` and `place`: of the worker. nullopt: it stays. Error: it stays, as the values make no sense.
Result<std::optional<Jump>> jump_of(const JumpVariables& set, text::WorkerId id,
                                    const store::ListPlace& place);

}  // namespace wq::shared_list::replica
