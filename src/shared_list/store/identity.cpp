#include "shared_list/store/identity.h"

#include <array>
#include <cstdio>

namespace wq::shared_list::store {

std::string identity_of(const struct stat& file) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "%llu %lld %lld.%09ld",
                  static_cast<unsigned long long>(file.st_ino), static_cast<long long>(file.st_size),
                  static_cast<long long>(file.st_mtim.tv_sec), static_cast<long>(file.st_mtim.tv_nsec));
    return text.data();
}

std::optional<struct stat> stat_of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return found;
}

}  // namespace wq::shared_list::store
