#include "shared_list/store/attributes.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace wq::shared_list::store {

namespace {

constexpr mode_t permissions = 07777;

// A file system or the system's policy gives these to every file by itself.
bool is_given_by_system(std::string_view name) {
    return name.starts_with("security.") || name.starts_with("trusted.") || name == "system.nfs4_acl";
}

bool copy_attribute(int from, const char* name, int to) {
    const ssize_t bytes = ::fgetxattr(from, name, nullptr, 0);
    if (bytes < 0) return is_given_by_system(name);
    std::string value(static_cast<std::size_t>(bytes), '\0');
    const ssize_t got = ::fgetxattr(from, name, value.data(), value.size());
    if (got == bytes && ::fsetxattr(to, name, value.data(), value.size(), 0) == 0) return true;
    return is_given_by_system(name);
}

bool copy_extended(int from, int to) {
    const ssize_t bytes = ::flistxattr(from, nullptr, 0);
    if (bytes < 0) return errno == ENOTSUP;  // the file system has none
    std::string names(static_cast<std::size_t>(bytes), '\0');
    if (::flistxattr(from, names.data(), names.size()) != bytes) return false;
    bool all = true;
    for (std::size_t at = 0; at < names.size(); at += std::string_view(names.data() + at).size() + 1)
        all = copy_attribute(from, names.data() + at, to) && all;
    return all;
}

}  // namespace

bool copy_attributes(int from, const struct stat& of, int to) {
    struct stat made {};
    if (::fstat(to, &made) != 0) return false;
    if ((made.st_uid != of.st_uid || made.st_gid != of.st_gid) && ::fchown(to, of.st_uid, of.st_gid) != 0)
        return false;
    // After the owner, whose change clears bits of the mode; before the ACL, which sets its group's bits.
    return ::fchmod(to, of.st_mode & permissions) == 0 && copy_extended(from, to);
}

}  // namespace wq::shared_list::store
