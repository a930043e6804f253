#include "base/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/shortage.h"

namespace wq {

int after_output(const char* program, int code) {
    const bool lost_before = std::ferror(stdout) != 0;
    errno = 0;
    const bool lost = std::fflush(stdout) != 0;
    if (code != 0 || !(lost || lost_before)) return code;
    std::fprintf(stderr, "%s: cannot write to stdout%s%s\n", program, errno != 0 ? ": " : "",
                 errno != 0 ? std::strerror(errno) : "");
    return to_int(exit_refused);
}

}  // namespace wq
