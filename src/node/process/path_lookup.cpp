#include "node/process/path_lookup.h"

#include <sys/stat.h>
#include <unistd.h>

namespace wq::node::process {

namespace {

// Used if PATH is not set, as in execvp(). The task's working directory is not searched.
constexpr std::string_view path_of_none = "/bin:/usr/bin";

// Whether no folder is relative: a relative one depends on where a task starts.
bool is_same_everywhere(std::string_view path) {
    if (path.empty()) return true;
    for (;;) {
        if (!path.starts_with('/')) return false;
        const std::size_t colon = path.find(':');
        if (colon == std::string_view::npos) return true;
        path.remove_prefix(colon + 1);
    }
}

}  // namespace

PathLookup::PathLookup(std::string path)
    : path_(std::move(path)), same_everywhere_(is_same_everywhere(path_)) {}

const PathLookup::Found& PathLookup::find(const std::string& name, const std::string& directory) {
    if (const auto known = cache_.find(name); known != cache_.end()) return known->second;
    // A miss is not cached, because another task may create the command later.
    last_ = search(path_, name, directory);
    if (last_.file.empty() || !same_everywhere_) return last_;
    return cache_.insert_or_assign(name, last_).first->second;
}

PathLookup::Found PathLookup::search(std::string_view path, const std::string& name,
                                     const std::string& directory) {
    if (name.find('/') != std::string::npos) return {name, false};
    if (path.empty()) path = path_of_none;
    Found result;
    while (!name.empty()) {
        const std::size_t colon = path.find(':');
        std::string file(path.substr(0, colon));
        if (file.empty()) file = ".";
        file += '/';
        file += name;
        const bool from_directory = !directory.empty() && !file.starts_with('/');
        const std::string seen_from_here = from_directory ? directory + "/" + file : file;
        struct stat info {};
        if (stat(seen_from_here.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
            if (access(seen_from_here.c_str(), X_OK) == 0) return {file, false};
            result.denied = true;
        }
        if (colon == std::string_view::npos) break;
        path.remove_prefix(colon + 1);
    }
    return result;
}

}  // namespace wq::node::process
