#include "base/standard_output.h"

#include <cstdio>

#include "base/shortage.h"

namespace wq {

int after_output(const char* program, int code) {
    const bool lost_before = std::ferror(stdout) != 0;  // nothing tells any more why
    const bool lost = std::fflush(stdout) != 0;
    if (code != 0 || !(lost || lost_before)) return code;
    std::fprintf(stderr, "%s: cannot write to stdout: its disk is full, or it is closed\n", program);
    return to_int(exit_refused);
}

}  // namespace wq
