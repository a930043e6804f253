#include "shared_list/store/local_view.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/descriptor.h"
#include "base/units.h"
#include "shared_list/store/edit_log.h"
#include "shared_list/store/identity.h"
#include "shared_list/store/new_list.h"
#include "shared_list/store/old_files.h"
#include "shared_list/store/problem.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

constexpr int most_looks = 20;

struct ListFile {
    std::string bytes;
    struct stat list {};
};

Result<ListFile> read_file(const std::string& path) {
    ListFile read;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.valid() || ::fstat(file.get(), &read.list) != 0 ||
        !read_range(file.get(), 0, static_cast<std::uint64_t>(read.list.st_size), read.bytes))
        return problem("read", path);
    return read;
}

// A list that is being written over is completed from this file.
bool take_in_place(const Paths& paths, const EditLog& log, Answer& answer) {
    const auto in_place = in_place_file(paths, log);
    if (!in_place) return false;
    auto whole = read_file(*in_place);
    if (!whole) return false;
    answer.file = std::move(whole->bytes);
    answer.log += (answer.log.ends_with('\n') ? "FILE " : "\nFILE ") + answer.now.file + "\n";
    return true;
}

// The list is read before its log, which only grows: so the log has all that the list has, and perhaps more.
// nullopt: another list, or another log, came meanwhile.
Result<std::optional<Answer>> look_once(const Paths& paths, bool takes_any) {
    const auto before = EditLog::open_to_read(paths);
    auto list = read_file(paths.file);
    if (!list) return list.error();
    const auto log = EditLog::open_to_read(paths);
    Answer answer;
    answer.whole_log = true;
    answer.now.file = identity_of(list->list);
    answer.file = std::move(list->bytes);
    if (log) {
        auto bytes = log->read(0);
        if (!bytes) return bytes.error();
        answer.log = std::move(*bytes);
        answer.now.log = log->name();
        answer.now.log_bytes = log->bytes();
        if (take_in_place(paths, *log, answer)) return std::optional(std::move(answer));
    }
    const auto after = stat_of(paths.file);
    const bool is_same = after && identity_of(*after) == answer.now.file;
    const bool is_same_log = (before ? before->name() : "") == answer.now.log;
    if (!takes_any && !(is_same && is_same_log)) return std::optional<Answer>();
    answer.left_aside = left_aside(paths);
    answer.old = OldFiles(paths, list->list).appended();
    return std::optional(std::move(answer));
}

}  // namespace

Status find_list(const Paths& paths, const std::string& name) {
    const std::string shown = line_for_message(name, 400);
    const auto found = stat_of(paths.file);
    if (!found && (errno == ENOENT || errno == ENOTDIR))
        return Error{ExitCode::bad_input, "there is no list " + shown + "; a worker would make it"};
    if (found && !S_ISREG(found->st_mode))
        return Error{ExitCode::bad_input, shown + " is no regular file; name a file, the list of tasks"};
    const Descriptor list(::open(paths.file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return list.valid() ? success() : problem("read", paths.file);
}

Result<Answer> view_list(const Paths& paths) {
    // Who appends without a pause must not keep us from an answer.
    for (int looks = 1;; ++looks) {
        auto answer = look_once(paths, looks == most_looks);
        if (!answer) return answer.error();
        if (*answer) return std::move(**answer);
    }
}

}  // namespace wq::shared_list::store
