#include "shared_list/store/old_files.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/descriptor.h"
#include "base/units.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/problem.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

// As in ssh/master/rewrite.sh. So many may stay for ever,
constexpr std::size_t few_files = 32;
constexpr std::uint64_t few_bytes = 64 << 20;
// more for so long,
constexpr std::int64_t long_seconds = 600;
// and these are too many: each is looked at during most exchanges.
constexpr std::size_t most_files = 512;
constexpr std::uint64_t most_bytes = 256 << 20;
constexpr std::uint64_t most_at_once = 16 << 20;

// Takes a number and the character after it from the front; `after` 0: the end.
std::optional<std::uint64_t> take_number(std::string_view& text, char after) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (after == '\0') return text.empty() ? std::optional(value) : std::nullopt;
    if (text.empty() || text[0] != after) return std::nullopt;
    text.remove_prefix(1);
    return value;
}

// The bytes of a file before `end` that are behind its last line end there.
bool read_begun_line(int file, std::uint64_t end, std::string& begun) {
    for (std::uint64_t most = 1;; most = std::max<std::uint64_t>(64 << 10, 2 * most)) {
        const std::uint64_t from = end - std::min(end, most);
        begun.clear();
        if (!read_range(file, from, end, begun)) return false;
        const std::size_t line_end = begun.rfind('\n');
        if (line_end != std::string::npos) begun.erase(0, line_end + 1);
        if (line_end != std::string::npos || from == 0) return true;
    }
}

std::uint64_t bytes_of(const struct stat& file) {
    return static_cast<std::uint64_t>(file.st_size);
}

}  // namespace

OldFiles::OldFiles(const Paths& paths, const struct stat& list) : paths_(paths), list_(list) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(paths.old, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        std::string_view rest = name;
        const auto number = take_number(rest, '.');
        const auto copied = number ? take_number(rest, '\0') : std::nullopt;
        const auto found = stat_of(at->path().string());
        if (!copied || !found) continue;
        const bool is_list = found->st_ino == list.st_ino && found->st_dev == list.st_dev;
        if (is_list)
            links_of_list_.push_back(at->path().string());
        else
            kept_.push_back({*number, *copied, bytes_of(*found), found->st_ctim});
    }
    std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.number < b.number; });
}

std::string OldFiles::path(std::uint64_t number, std::uint64_t copied) const {
    return paths_.old + "/" + std::to_string(number) + "." + std::to_string(copied);
}

std::vector<OldFile> OldFiles::appended() const {
    std::vector<OldFile> result;
    for (const Kept& kept : kept_) {
        if (!kept.has_more()) continue;
        const std::string where = path(kept.number, kept.copied);
        const Descriptor file(::open(where.c_str(), O_RDONLY | O_CLOEXEC));
        std::string begun, bytes;
        const std::uint64_t end = std::min(kept.bytes, kept.copied + most_at_once);
        if (!file.valid() || !read_range(file.get(), kept.copied, end, bytes) ||
            !read_begun_line(file.get(), kept.copied, begun))
            continue;
        if (auto old = whole_lines(kept.number, kept.copied, std::move(begun), std::move(bytes)))
            result.push_back(std::move(*old));
    }
    return result;
}

Status OldFiles::copied(const std::string& name) const {
    std::string_view rest = name;
    const auto number = take_number(rest, '.');
    const auto before = number ? take_number(rest, '-') : std::nullopt;
    const auto now = before ? take_number(rest, '\0') : std::nullopt;
    if (!now) return Error{ExitCode::internal, "no name of an old file: " + quote_for_message(name)};
    const std::string from = path(*number, *before);
    if (::rename(from.c_str(), path(*number, *now).c_str()) == 0) return success();
    return problem("rename", from);
}

void OldFiles::make_room() {
    struct statvfs disk {};
    if (kept_.empty() || ::statvfs(paths_.old.c_str(), &disk) != 0) return;
    std::uint64_t free = disk.f_bavail * disk.f_frsize;
    std::uint64_t sum = 0;
    for (const Kept& kept : kept_) sum += kept.bytes;
    std::erase_if(kept_, [&](const Kept& kept) {
        if (sum <= free || kept.has_more() || ::unlink(path(kept.number, kept.copied).c_str()) != 0)
            return false;
        sum -= kept.bytes;
        free += kept.bytes;
        return true;
    });
}

void OldFiles::keep_list() {
    // A crash left them; what was appended since is in the list itself.
    for (const std::string& link : links_of_list_) ::unlink(link.c_str());
    links_of_list_.clear();
    const std::uint64_t number = kept_.empty() ? 1 : kept_.back().number + 1;
    ::mkdir(paths_.old.c_str(), 0777);
    const std::string link = path(number, bytes_of(list_));
    if (::link(paths_.file.c_str(), link.c_str()) != 0) return;
    const auto made = stat_of(link);
    if (!made) return;
    kept_.push_back({number, bytes_of(list_), bytes_of(list_), made->st_ctim});
    remove_oldest(made->st_ctim);
}

// Only those whose bytes are all in the list. `now` is by the clock of their file system.
void OldFiles::remove_oldest(const timespec& now) {
    std::uint64_t sum = 0;
    for (const Kept& kept : kept_) sum += kept.bytes;
    std::size_t left = kept_.size();
    for (const Kept& kept : kept_) {
        if (left <= 1 || (left <= few_files && sum <= few_bytes)) return;
        const bool are_too_many = left > most_files || sum > most_bytes;
        const bool is_young = now.tv_sec - kept.changed.tv_sec < long_seconds;
        if (kept.has_more() || (is_young && !are_too_many) ||
            ::unlink(path(kept.number, kept.copied).c_str()) != 0)
            continue;
        --left;
        sum -= kept.bytes;
    }
}

Duration rewriting_time(Duration took, std::size_t old_files) {
    if (old_files <= few_files) return took;
    return std::max<Duration>(took, (old_files - few_files) * std::chrono::milliseconds(10));
}

std::optional<OldFile> whole_lines(std::uint64_t number, std::uint64_t copied, std::string begun,
                                   std::string bytes) {
    const std::size_t end = bytes.rfind('\n');
    if (end == std::string::npos || bytes.find('\0') != std::string::npos) return std::nullopt;
    if (begun.find('\0') != std::string::npos) return std::nullopt;
    bytes.resize(end + 1);
    return OldFile{
        std::to_string(number) + "." + std::to_string(copied) + "-" + std::to_string(copied + bytes.size()),
        std::move(begun) + bytes};
}

}  // namespace wq::shared_list::store
