// Runs a script with the Python that has h5py, the reader that users have.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "unit/records/journal/records_testing.h"

namespace wq::records::hdf5::testing {

struct Ran {
    int status = -1;
    std::string output;  // stdout and stderr
};

inline Ran run_command(const std::string& command) {
    Ran ran;
    std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return ran;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.output.append(buffer, n);
    ran.status = ::pclose(pipe);
    return ran;
}

// Debian's own interpreter first: python3-h5py installs for it.
inline std::string python_with_h5py() {
    for (const char* python : {"/usr/bin/python3", "python3"}) {
        if (run_command(std::string(python) + " -c 'import h5py'").status == 0) return python;
    }
    return {};
}

inline Ran run_python(const std::string& python, const journal::testing::TempDir& dir,
                      const std::string& script) {
    test::write_file(dir.file("script.py"), script);
    // A sanitizer's preloaded library is ours, not Python's.
    return run_command("LD_PRELOAD= " + python + " " + dir.file("script.py"));
}

}  // namespace wq::records::hdf5::testing
