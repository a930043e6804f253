// Finds commands in PATH. It searches once per name, not once per task.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace wq::node::process {

class PathLookup {
  public:
    explicit PathLookup(std::string path);

    // `file`: the file to execute, relative to the folder where the task starts; a name with a slash is
    // unchanged; empty if PATH has no such command. `denied`: a file of that name exists but may not be
    // executed.
    struct Found {
        std::string file;
        bool denied = false;
    };
    // Valid until the next call. `directory`: where the task starts; empty: ours.
    const Found& find(const std::string& name, const std::string& directory = {});
    void forget(const std::string& name) { cache_.erase(name); }  // it was moved

    // `path`: empty if the variable is not set.
    static Found search(std::string_view path, const std::string& name, const std::string& directory = {});

  private:
    std::string path_;
    bool same_everywhere_;  // it has no relative folder
    std::unordered_map<std::string, Found> cache_;
    Found last_;
};

}  // namespace wq::node::process
