// A program with a folder for its logs.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "unit/api/program_fixture.h"

namespace wq::testing {

class LogsTest : public ProgramTest {
  protected:
    LogsTest() {
        std::string name = (std::filesystem::temp_directory_path() / "wq-logs-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~LogsTest() override { std::filesystem::remove_all(folder_); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::vector<std::string> lines(const std::string& name) const {
        std::ifstream in(path(name));
        std::vector<std::string> all;
        for (std::string line; std::getline(in, line);) all.push_back(line);
        return all;
    }
    std::filesystem::path folder_;
};

}  // namespace wq::testing
