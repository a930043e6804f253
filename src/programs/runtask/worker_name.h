// The default name of a worker in a list.
#pragma once

#include <string>

namespace wq::programs::runtask {

// What `hostname` and `hostname -I` print, with a blank between.
std::string default_worker_name();

}  // namespace wq::programs::runtask
