#include "host/path_lookup.h"

#include <sys/stat.h>
#include <unistd.h>

namespace wq::host {

namespace {

// As execvp(): where there is no PATH these are searched, not the folder that a task begins in.
constexpr std::string_view path_of_none = "/bin:/usr/bin";

}  // namespace

const PathLookup::Found& PathLookup::find(const std::string& name) {
    if (const auto known = cache_.find(name); known != cache_.end()) return known->second;
    // A miss is not kept: the command may yet be made by another task.
    last_ = search(path_, name);
    if (last_.file.empty()) return last_;
    return cache_.insert_or_assign(name, last_).first->second;
}

PathLookup::Found PathLookup::search(std::string_view path, const std::string& name) {
    if (name.find('/') != std::string::npos) return {name, false};
    if (path.empty()) path = path_of_none;
    Found result;
    while (!name.empty()) {
        const std::size_t colon = path.find(':');
        std::string file(path.substr(0, colon));
        if (file.empty()) file = ".";
        file += '/';
        file += name;
        struct stat info {};
        if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
            if (access(file.c_str(), X_OK) == 0) return {file, false};
            result.denied = true;
        }
        if (colon == std::string_view::npos) break;
        path.remove_prefix(colon + 1);
    }
    return result;
}

}  // namespace wq::host
