// Runs a script with a real shell and returns its output.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace wq::engine::tasklist::testing {

inline std::string run_script(const std::string& shell, const std::string& script) {
    std::string path = (std::filesystem::temp_directory_path() / "wq_script_XXXXXX").string();
    const int descriptor = mkstemp(path.data());
    EXPECT_GE(descriptor, 0);
    close(descriptor);
    std::ofstream(path, std::ios::binary) << script;
    std::string output;
    FILE* pipe = popen((shell + " '" + path + "'").c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::array<char, 65536> piece{};
    for (std::size_t size = 0; (size = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
        output.append(piece.data(), size);
    }
    EXPECT_EQ(pclose(pipe), 0) << shell;
    std::filesystem::remove(path);
    return output;
}

inline bool have_bash() {
    return std::system("bash -c : >/dev/null 2>&1") == 0;
}

}  // namespace wq::engine::tasklist::testing
