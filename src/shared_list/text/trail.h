// The trail of tries at the end of a line: ` # worker 3 # (07-28 15:52:33 ... 07-28 15:52:36) #ok`.
#pragma once

#include <string_view>
#include <vector>

#include "shared_list/text/marked_line.h"

namespace wq::shared_list::text {

struct Trail {
    std::string_view before;  // the line without it and the blanks before it
    std::vector<Try> tries;   // empty: there is none
};

// Text that somebody has written behind or into a trail is skipped.
Trail split_trail(std::string_view line);

}  // namespace wq::shared_list::text
