// `runtask --check`: tags that are probably mistyped.
#pragma once

#include <string>
#include <vector>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

// One line each, in the order of the list: `#+g` without any `#:g`, and tags with a blank after the `#`.
std::vector<std::string> likely_typos(const Document& list);

}  // namespace wq::shared_list::text
