// What a `#!` line has told its worker to do next: to go to another list, or to have another id.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "list_store/list_place.h"
#include "marked_list/marked_line.h"

namespace wq::shared_run {

// Tells it after the line. It follows as a comment, for the records.
std::string probe_of(const std::string& line);

struct Jump {
    list_store::ListPlace place;
    std::optional<marked_list::WorkerId> id;  // none: the next one
    bool same_list = false;
};

// `output`: of the probe; `id` and `place`: of the worker. nullopt: it stays. Error: it stays, as what the
// line has set makes no sense.
Result<std::optional<Jump>> jump_in(const std::string& output, marked_list::WorkerId id,
                                    const list_store::ListPlace& place);

}  // namespace wq::shared_run
