// Compares a text with a file of tests/golden; with UPDATE in the environment it rewrites the file, for
// review.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/folder.h"
#include "support/source_dir.h"

namespace wq::test {

inline void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = (source_dir() / "tests/golden" / name).string();
    if (std::getenv("UPDATE") != nullptr) {
        std::ofstream(path) << text;
        return;
    }
    EXPECT_EQ(text, read_file(path)) << path << ": with UPDATE=1 it is written anew";
}

}  // namespace wq::test
