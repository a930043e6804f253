// How a queue prints lines for its user.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "work_queue/slice_queue.h"

namespace wq::slices::queue {

using PrintLine = std::function<void(const std::string&)>;

inline PrintLine printer_or_stderr(const PrintLine& print_line) {
    if (print_line) return print_line;
    return [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
}

// With the queue's name before each line.
inline PrintLine printer_with_name(const std::string& name, const PrintLine& print_line) {
    return [name, print_line](const std::string& line) { print_line(name + ": " + line); };
}
inline PrintLine printer_with_name(const SliceOptions& options) {
    return printer_with_name(options.name, options.say);
}

}  // namespace wq::slices::queue
