// A test's temporary folder, and access to files.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace wq::test {

// Unique for every test in every process of the test suite.
inline std::string unique_name() {
    static std::atomic<int> count{0};
    return "wq-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

// Always new, and so empty: a test that was killed leaves its folder, and process ids come again.
class Folder {
  public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "wq-test-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
        path_ = name;
        std::filesystem::permissions(path_, std::filesystem::perms{0755});  // other users may enter
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path() const { return path_.string(); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace wq::test
