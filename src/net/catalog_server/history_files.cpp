#include "net/catalog_server/history_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>

#include "base/take_number.h"
#include "base/write_all.h"

namespace wq::net::catalog_server {

namespace {

constexpr int below_folder = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // of a FIFO, too, nobody waits
constexpr const char* heard_name = "heard";

std::string name_in_year(Day day, std::string_view kind) {
    return std::to_string(day.day) + "." + std::string(kind);
}

Descriptor plain_file(int folder, const std::string& name, int flags) {
    Descriptor file(::openat(folder, name.c_str(), flags | below_folder, 0644));
    struct stat about {};
    if (!file.valid()) return file;
    if (::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode)) return file;
    errno = EINVAL;
    return Descriptor();
}

std::optional<int> number_of(std::string_view text) {
    const auto number = number_in<int>(text);
    return number.value_or(-1) >= 0 ? number : std::nullopt;
}

// Names in a folder; of a folder that cannot be read, none.
std::vector<std::string> names_in(Descriptor folder) {
    std::vector<std::string> names;
    DIR* const listing = folder.valid() ? ::fdopendir(folder.get()) : nullptr;
    if (listing == nullptr) return names;
    folder.release();
    const std::unique_ptr<DIR, int (*)(DIR*)> closed(listing, ::closedir);
    while (const dirent* const entry = ::readdir(listing)) names.emplace_back(entry->d_name);
    return names;
}

std::string in_progress(std::string_view name) {
    return std::string(name) + ".new";
}

bool replace_in(int folder, const std::string& name, const std::function<bool(int)>& write) {
    Descriptor file = plain_file(folder, in_progress(name), O_WRONLY | O_CREAT | O_TRUNC);
    return file.valid() && write(file.get()) &&
           ::renameat(folder, in_progress(name).c_str(), folder, name.c_str()) == 0;
}

}  // namespace

Day day_of(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    return {parts.tm_year + 1900, parts.tm_yday};
}

Result<HistoryFiles> HistoryFiles::open(const std::string& folder) {
    const auto fails = [&](const std::string& why) {
        return Error{ExitCode::bad_input, "history in " + folder + ": " + why};
    };
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return fails(std::strerror(errno));
    Descriptor root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) return fails(std::strerror(errno));
    if (::flock(root.get(), LOCK_EX | LOCK_NB) != 0)
        return fails(errno == EWOULDBLOCK ? "another server uses it" : std::strerror(errno));
    return HistoryFiles(folder, std::move(root));
}

Descriptor HistoryFiles::year_of(Day day, bool make) const {
    const std::string name = std::to_string(day.year);
    if (make) ::mkdirat(root_.get(), name.c_str(), 0755);
    return Descriptor(::openat(root_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | below_folder));
}

std::vector<Day> HistoryFiles::days() const {
    std::vector<Day> found;
    for (const std::string& year :
         names_in(Descriptor(::openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | below_folder)))) {
        const auto number = number_of(year);
        if (!number) continue;
        for (const std::string& name : names_in(year_of({*number, 0}, false))) {
            const std::size_t point = name.find('.');
            const std::string_view kind = std::string_view(name).substr(std::min(point + 1, name.size()));
            const auto day = number_of(std::string_view(name).substr(0, point));
            if (day && *day < 366 && (kind == "log" || kind == "ckpt")) found.push_back({*number, *day});
        }
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

Descriptor HistoryFiles::read(Day day, std::string_view kind) const {
    const Descriptor year = year_of(day, false);
    return year.valid() ? plain_file(year.get(), name_in_year(day, kind), O_RDONLY) : Descriptor();
}

bool HistoryFiles::has(Day day, std::string_view kind) const {
    return read(day, kind).valid();
}

Descriptor HistoryFiles::read_heard() const {
    return plain_file(root_.get(), heard_name, O_RDONLY);
}

Descriptor HistoryFiles::append_log(Day day) const {
    const Descriptor year = year_of(day, true);
    if (!year.valid()) return Descriptor();
    Descriptor log = plain_file(year.get(), name_in_year(day, "log"), O_RDWR | O_CREAT | O_APPEND);
    if (!log.valid()) return log;
    const off_t size = ::lseek(log.get(), 0, SEEK_END);
    char last = '\n';
    if (size > 0 && ::pread(log.get(), &last, 1, size - 1) == 1 && last != '\n' &&
        !write_all(log.get(), "\n"))
        return Descriptor();
    return log;
}

bool HistoryFiles::replace(Day day, std::string_view kind, const std::function<bool(int)>& write) const {
    const Descriptor year = year_of(day, true);
    return year.valid() && replace_in(year.get(), name_in_year(day, kind), write);
}

bool HistoryFiles::replace_heard(std::string_view text) const {
    return replace_in(root_.get(), heard_name, [&](int file) { return write_all(file, text); });
}

Descriptor HistoryFiles::begin_checkpoint(Day day) const {
    const Descriptor year = year_of(day, true);
    if (!year.valid()) return Descriptor();
    return plain_file(year.get(), in_progress(name_in_year(day, "ckpt")), O_WRONLY | O_CREAT | O_TRUNC);
}

bool HistoryFiles::end_checkpoint(Day day, int written) const {
    const Descriptor year = year_of(day, false);
    const std::string name = name_in_year(day, "ckpt");
    return year.valid() && ::fdatasync(written) == 0 &&
           ::renameat(year.get(), in_progress(name).c_str(), year.get(), name.c_str()) == 0;
}

std::int64_t HistoryFiles::remove_oldest(std::int64_t most) const {
    const std::vector<Day> all = days();
    std::vector<std::int64_t> bytes;
    std::int64_t sum = 0;
    for (const Day day : all) {
        std::int64_t of_day = 0;
        for (const char* const kind : {"log", "ckpt"}) {
            struct stat about {};
            const Descriptor file = read(day, kind);
            if (file.valid() && ::fstat(file.get(), &about) == 0) of_day += about.st_size;
        }
        bytes.push_back(of_day);
        sum += of_day;
    }
    for (std::size_t at = 0; at + 1 < all.size() && sum > most; ++at) {
        const Descriptor year = year_of(all[at], false);
        if (!year.valid()) continue;
        for (const char* const kind : {"log", "ckpt", "ckpt.new"})
            ::unlinkat(year.get(), name_in_year(all[at], kind).c_str(), 0);
        sum -= bytes[at];
        if (all[at + 1].year != all[at].year)
            ::unlinkat(root_.get(), std::to_string(all[at].year).c_str(), AT_REMOVEDIR);
    }
    return sum;
}

}  // namespace wq::net::catalog_server
