#include "base/relative_path.h"

#include <algorithm>
#include <climits>

namespace wq {

std::optional<std::string> relative_path(std::string_view path) {
    if (path.size() >= PATH_MAX || path.starts_with('/') || path.find('\0') != path.npos) return std::nullopt;
    std::string result;
    while (!path.empty()) {
        const std::size_t slash = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, slash);
        path.remove_prefix(std::min(slash + 1, path.size()));
        if (part.empty() || part == ".") continue;
        if (part == ".." || part.size() > NAME_MAX) return std::nullopt;
        if (!result.empty()) result += '/';
        result += part;
    }
    if (result.empty()) return std::nullopt;
    return result;
}

}  // namespace wq
