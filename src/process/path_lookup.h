// Where a command's name leads to: PATH is searched once a name, not once a task.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace wq::process {

class PathLookup {
  public:
    explicit PathLookup(std::string path);

    // The file to execute, seen from the folder that the task begins in. A name with a slash is itself;
    // empty: no such command in PATH. `denied` tells whether something of that name is there that may not be
    // executed.
    struct Found {
        std::string file;
        bool denied = false;
    };
    // Valid until the next call. `directory`: of the task; empty: ours.
    const Found& find(const std::string& name, const std::string& directory = {});
    void forget(const std::string& name) { cache_.erase(name); }  // it has moved since

    // `path`: empty where the variable is not there.
    static Found search(std::string_view path, const std::string& name, const std::string& directory = {});

  private:
    std::string path_;
    bool same_everywhere_;  // no folder in it is relative
    std::unordered_map<std::string, Found> cache_;
    Found last_;
};

}  // namespace wq::process
