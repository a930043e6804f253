#include "shared_list/store/local_signs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/descriptor.h"
#include "base/random_bits.h"
#include "shared_list/store/identity.h"
#include "shared_list/store/problem.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

constexpr std::size_t text_bytes = 20;
constexpr std::chrono::seconds most_between_signs{10};
constexpr std::int64_t most_seconds = 100LL * 366 * 24 * 3600;

std::string sign_path(const std::string& folder, text::WorkerId worker) {
    return folder + "/" + std::to_string(worker);
}

Duration mtime_of(const struct stat& file) {
    return std::chrono::seconds(file.st_mtim.tv_sec) + std::chrono::nanoseconds(file.st_mtim.tv_nsec);
}

// The clock that touches get is that of the file system, perhaps another machine's.
Result<Duration> touch_now(const std::string& folder) {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    const std::string path = folder + "/.now." + std::to_string(random_bits());
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    struct stat made {};
    const bool read = file.valid() && write_all(file.get(), "\n") && ::fstat(file.get(), &made) == 0;
    const int code = errno;
    ::unlink(path.c_str());
    if (!read) return problem("write", path, code);
    return mtime_of(made);
}

std::optional<Sign> read_sign(const std::filesystem::path& path, Duration now) {
    const std::string name = path.filename().string();
    Sign sign;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), sign.worker);
    if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat found {};
    std::string text;
    if (!file.valid() || ::fstat(file.get(), &found) != 0 || !read_range(file.get(), 0, text_bytes, text))
        return std::nullopt;  // removed just now
    sign.age = std::max(now - mtime_of(found), Duration{0});
    sign.lease = lease_of_text(text);
    return sign;
}

}  // namespace

std::string text_of_lease(Duration lease) {
    std::string text = std::to_string(std::chrono::ceil<std::chrono::seconds>(lease).count());
    text.resize(text_bytes, ' ');
    return text + "\n";
}

Duration lease_of_text(const std::string& text) {
    std::int64_t seconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (seconds < 0 || seconds > most_seconds) seconds = 0;
    return std::chrono::seconds(seconds);
}

Status write_sign(const std::string& folder, text::WorkerId worker, Duration lease) {
    const std::string path = sign_path(folder, worker);
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (file.valid() && write_all(file.get(), text_of_lease(lease))) return success();
    return problem("write", path);
}

Status remove_sign(const std::string& folder, text::WorkerId worker) {
    const std::string path = sign_path(folder, worker);
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return success();
    return problem("remove", path);
}

Result<std::vector<Sign>> read_signs(const std::string& folder, bool may_write) {
    const auto now = may_write ? touch_now(folder) : Result<Duration>(std::chrono::microseconds(wall_now()));
    if (!now) return now.error();
    std::vector<Sign> signs;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (auto sign = read_sign(at->path(), *now)) signs.push_back(*sign);
    if (error && (may_write || error != std::errc::no_such_file_or_directory))
        return problem("read", folder, error.value());
    return signs;
}

std::chrono::seconds between_signs(const std::map<text::WorkerId, Duration>& leases) {
    std::chrono::seconds between = most_between_signs;
    for (const auto& [worker, lease] : leases) {
        const auto part = std::chrono::floor<std::chrono::seconds>(lease / 4);
        if (lease != Duration{0}) between = std::min(between, std::max(part, std::chrono::seconds(1)));
    }
    return between;
}

}  // namespace wq::shared_list::store
