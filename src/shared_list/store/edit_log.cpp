#include "shared_list/store/edit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/read_write.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

constexpr std::string_view first_word = "LOG ";
constexpr std::size_t longest_name = 64;
constexpr std::size_t most_ahead = 16384;  // as in ssh/master/follow.sh

// nullopt: no log, such as an empty file after a crash.
std::optional<std::string> name_in(int file) {
    std::string head;
    if (!read_range(file, 0, first_word.size() + longest_name, head)) return std::nullopt;
    const std::size_t end = head.find('\n');
    if (!head.starts_with(first_word) || end == std::string::npos || end == first_word.size())
        return std::nullopt;
    return head.substr(first_word.size(), end - first_word.size());
}

bool ends_amid_line(int file, std::uint64_t bytes) {
    std::string last;
    return bytes > 0 && read_range(file, bytes - 1, bytes, last) && last != "\n";
}

// The log before it is kept where the file system has links.
bool replace_log(const std::string& aside, const Paths& paths) {
    ::unlink(paths.previous_edits.c_str());
    [[maybe_unused]] const int kept = ::link(paths.edits.c_str(), paths.previous_edits.c_str());
    return ::rename(aside.c_str(), paths.edits.c_str()) == 0;
}

// So that helpers, whose shells read a byte at a time, get what follows by another way. Without it they are
// slow.
void note_much_ahead(const std::string& log, const std::string& name, std::uint64_t end) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor file(::open((log + ".long").c_str(), flags, 0666));
    if (file.valid()) write_all(file.get(), name + " " + std::to_string(end) + "\n");
}

}  // namespace

Result<EditLog> EditLog::open(const Paths& paths) {
    auto log = open_as(paths, O_RDWR | O_APPEND);
    if (log) return std::move(*log);
    if (errno != ENOENT) return problem("open", paths.edits);
    return begin(paths, {});
}

std::optional<EditLog> EditLog::open_to_read(const Paths& paths) {
    return open_as(paths, O_RDONLY);
}

// nullopt: errno says why; ENOENT also if there is a file that is no log.
std::optional<EditLog> EditLog::open_as(const Paths& paths, int flags) {
    Descriptor file(::open(paths.edits.c_str(), flags | O_CLOEXEC));
    if (!file.valid()) return std::nullopt;
    auto name = name_in(file.get());
    struct stat found {};
    if (!name || ::fstat(file.get(), &found) != 0) {
        errno = ENOENT;
        return std::nullopt;
    }
    return EditLog(paths.edits, std::move(file), std::move(*name), static_cast<std::uint64_t>(found.st_size));
}

Result<EditLog> EditLog::begin(const Paths& paths, std::string_view records) {
    std::error_code ignored;  // what fails here fails below
    std::filesystem::create_directories(paths.folder, ignored);
    const std::string aside = paths.edits + ".new";
    Descriptor file(
        ::open(aside.c_str(), O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
    std::string name = random_word();
    std::string text(first_word);
    text.append(name).append("\n").append(records);
    if (!file.valid() || !write_all(file.get(), text) || ::fsync(file.get()) != 0 ||
        !replace_log(aside, paths)) {
        const int code = errno;
        ::unlink(aside.c_str());
        return problem("write", aside, code);
    }
    sync_folder(paths.folder);
    return EditLog(paths.edits, std::move(file), std::move(name), text.size());
}

Result<std::string> EditLog::read(std::uint64_t from) const {
    std::string bytes;
    if (!read_range(file_.get(), from, bytes_, bytes)) return problem("read", path_);
    return bytes;
}

Status EditLog::append(std::string_view records) {
    std::string text = ends_amid_line(file_.get(), bytes_) ? "\n" : "";
    text.append(records);
    if (text.size() > most_ahead) note_much_ahead(path_, name_, bytes_ + text.size());
    const ssize_t put = ::write(file_.get(), text.data(), text.size());
    if (put == static_cast<ssize_t>(text.size())) {
        bytes_ += text.size();
        return success();
    }
    const int code = put < 0 ? errno : ENOSPC;
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0)
        return unfinished(
            {{}, problem("write", path_, code).message + "; half a record may stand at its end"});
    return problem("write", path_, code);
}

Status EditLog::sync() const {
    if (::fdatasync(file_.get()) == 0) return success();
    return unfinished(problem("store on the disk", path_));
}

}  // namespace wq::shared_list::store
