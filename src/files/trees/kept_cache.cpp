#include "files/trees/kept_cache.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace wq::files::trees {

namespace {
constexpr int most_parts = 4096;  // for the workers of one host
}

Trouble KeptCache::take(const std::string& folder, const std::string& host) {
    for (int part = 0; part < most_parts; ++part) {
        const std::string path = folder + "/" + host + "." + std::to_string(part);
        std::error_code error;
        std::filesystem::create_directories(path, error);
        if (error) return problem_of_errno(path, error.value());
        const std::string name = path + "/lock";
        Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!lock.valid() && errno == EACCES) continue;  // belongs to another user
        if (!lock.valid()) return problem_of_errno(name, errno);
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
            lock_ = std::move(lock);
            path_ = path + "/contents";
            return std::nullopt;
        }
        if (errno != EWOULDBLOCK) return problem_of_errno(name, errno);
    }
    return Problem{Problem::Kind::unreadable, folder + ": all its parts are in use"};
}

}  // namespace wq::files::trees
