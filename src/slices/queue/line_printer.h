// How a queue prints lines for its user.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "work_queue/slice_queue.h"

namespace wq::slices::queue {

using Say = std::function<void(const std::string&)>;

inline Say printer_or_stderr(const Say& say) {
    if (say) return say;
    return [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
}

// With the queue's name before each line.
inline Say printer_with_name(const std::string& name, const Say& say) {
    return [name, say](const std::string& line) { say(name + ": " + line); };
}
inline Say printer_with_name(const SliceOptions& options) {
    return printer_with_name(options.name, options.say);
}

}  // namespace wq::slices::queue
