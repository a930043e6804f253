// A program whose tasks have files: a folder for them, `here`, and a worker on request.
#pragma once

#include <fstream>
#include <sstream>

#include "program_fixture.h"

namespace wq::testing {

namespace fs = std::filesystem;

class Files : public Program {
  protected:
    Files() { fs::create_directories(folder_ + "/here"); }

    std::string here(const std::string& name) const { return folder_ + "/here/" + name; }
    std::string write(const std::string& name, const std::string& text) const {
        fs::create_directories(fs::path(here(name)).parent_path());
        std::ofstream(here(name)) << text;
        return here(name);
    }
    static std::string read(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    wq::Task run(wq::Task task) {
        manager_->submit(std::move(task));
        auto ended = manager_->wait();
        EXPECT_TRUE(ended.has_value());
        return ended ? std::move(*ended) : wq::Task();
    }
    // Larger than a window, so that it arrives in parts; all texts differ.
    static std::string large_text(std::size_t bytes) {
        std::string text;
        for (std::uint64_t number = 1; text.size() < bytes; number = number * 6364136223846793005u + 1)
            text += std::to_string(number) + "\n";
        return text;
    }
    // The remaining sandboxes in the workspaces of all workers.
    std::vector<std::string> sandboxes() const {
        std::vector<std::string> found;
        std::error_code gone;  // if one is removed meanwhile
        for (fs::recursive_directory_iterator entry(folder_, gone), end; !gone && entry != end;
             entry.increment(gone))
            if (entry->path().filename().string().starts_with("t.")) found.push_back(entry->path());
        return found;
    }
};

}  // namespace wq::testing
