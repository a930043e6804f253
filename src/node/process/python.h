// Which Python runs functions and coprocesses on this machine.
#pragma once

#include <string>
#include <vector>

namespace wq::node::process {

// $WORK_QUEUE_PYTHON of this process, if it is set, whether or not it can be used; else the first of
// `candidates` that can be executed. Names without '/' are looked up in `path` (of PATH). Empty: there is
// none.
std::string find_python(const std::vector<std::string>& candidates, const std::string& path);

// For the end of a message about one that cannot be used: who chose it. Empty if WORK_QUEUE_PYTHON is not
// set.
std::string chooser_of_python();

}  // namespace wq::node::process
