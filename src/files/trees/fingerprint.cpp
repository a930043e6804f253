#include "files/trees/fingerprint.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace wq::files::trees {

namespace {

std::int64_t nanoseconds(const struct timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string number(std::int64_t value) {
    return ' ' + std::to_string(value);
}

}  // namespace

bool Fingerprint::settled() const {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t tick = newest_ns % second == 0 ? 3 * second : second / 10;
    return taken_ns - newest_ns >= tick;
}

Fingerprint fingerprint_of(const std::string& path, Compared compared) {
    KeyMaker maker;
    Fingerprint result;
    struct timespec now {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    result.taken_ns = nanoseconds(now);
    const auto add = [&](const std::filesystem::path& one, int (*look)(const char*, struct stat*)) {
        struct stat status {};
        if (look(one.c_str(), &status) != 0) return;
        // Skips folders: the names show what is added to them or removed.
        if (compared == Compared::modification && !S_ISREG(status.st_mode)) return;
        std::string line = one.string() + '\0' + number(status.st_size) +
                           number(nanoseconds(status.st_mtim)) + number(std::int64_t{status.st_mode});
        if (compared == Compared::any_change)
            line += number(static_cast<std::int64_t>(status.st_ino)) +
                    number(static_cast<std::int64_t>(status.st_dev)) + number(nanoseconds(status.st_ctim)) +
                    number(S_ISREG(status.st_mode) ? static_cast<std::int64_t>(status.st_nlink) : 0);
        maker.add(line);
        result.newest_ns =
            std::max({result.newest_ns, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)});
    };
    std::error_code error;
    std::vector<std::filesystem::path> all;
    for (auto at = std::filesystem::recursive_directory_iterator(path, error);
         !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error))
        all.push_back(at->path());
    std::sort(all.begin(), all.end());
    // TreeReader reads the target of a link that leads out, so the target counts too.
    const bool follow = compared == Compared::any_change;
    add(path, ::stat);
    for (const auto& one : all) {
        add(one, ::lstat);
        if (follow && std::filesystem::is_symlink(one, error)) add(one, ::stat);
    }
    result.print = maker.key();
    return result;
}

namespace {
constexpr std::size_t most_known = 100'000;
}  // namespace

std::optional<Content> KeyMemo::known(const std::string& name, const Fingerprint& now) const {
    const auto found = known_.find(name);
    if (found == known_.end() || found->second.print != now.print) return std::nullopt;
    return found->second.content;
}

void KeyMemo::keep(const std::string& name, const Fingerprint& before, Content content) {
    if (!before.settled()) return;
    if (known_.size() >= most_known) known_.clear();
    known_[name] = {before.print, std::move(content)};
}

}  // namespace wq::files::trees
