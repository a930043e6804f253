#include "shared_list/store/local_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "base/random_bits.h"
#include "base/read_write.h"
#include "base/units.h"
#include "shared_list/store/edit_log.h"
#include "shared_list/store/file_lock.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/local_exchange.h"
#include "shared_list/store/new_list.h"
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
        return Error{ExitCode::bad_input,
                     "there is no list " + shown + "; check the name (a worker would make the list)"};
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

namespace {

class HeldHere final : public ListStore::Held {
  public:
    explicit HeldHere(FileLock lock) : lock_(std::move(lock)) {}

  private:
    FileLock lock_;
};

Error never_opened() {
    return {ExitCode::internal, "a list that was not opened"};
}

std::string state_of(const std::string& path) {
    const auto found = stat_of(path);
    return found ? identity_of(*found) : std::string();
}

// Opened for both, as root passes access() of a file system that is mounted read-only.
Status make_list(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
        return Error{ExitCode::bad_input,
                     line_for_message(path) + " is no regular file; name a file, the list of tasks"};
    const Descriptor list(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
    return list.valid() ? success() : problem("read and write", path);
}

Status make_folders(const Paths& paths) {
    if (::access(paths.directory.c_str(), W_OK | X_OK) != 0)
        return problem("write in the folder of the list,", paths.directory);
    for (const std::string& folder : {paths.alive, paths.old}) {
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        if (error) return problem("make", folder, error.value());
        if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) return problem("write in", folder);
    }
    return success();
}

}  // namespace

struct LocalStore::Opened {
    Paths paths;
    bool to_write = true;
};

LocalStore::LocalStore(std::string file, std::function<void(const std::string&)> say)
    : name_(std::move(file)), say_(std::move(say)) {}

LocalStore::~LocalStore() = default;

Status LocalStore::open() {
    opened_.reset();
    auto paths = paths_of(name_);
    if (!paths) return paths.error();
    if (const Status made = make_list(paths->file); !made) return made;
    if (const Status made = make_folders(*paths); !made) return made;
    opened_ = std::make_unique<Opened>(Opened{std::move(*paths)});
    return success();
}

Status LocalStore::open_to_read() {
    opened_.reset();
    auto paths = paths_of(name_);
    if (!paths) return paths.error();
    if (const Status found = find_list(*paths, name_); !found) return found;
    opened_ = std::make_unique<Opened>(Opened{std::move(*paths), false});
    return success();
}

Result<Answer> LocalStore::read() {
    if (!opened_) return never_opened();
    return view_list(opened_->paths);
}

Result<Answer> LocalStore::exchange(const Request& request) {
    if (!opened_ || !opened_->to_write) return never_opened();
    // Somebody may edit the list for longer than the leases of who waits.
    auto lock = FileLock::take(opened_->paths.lock, say_, [this] { std::ignore = give_signs(); });
    if (!lock) return lock.error();
    auto exchanged = exchange_locked(opened_->paths, request);
    lock->release();
    if (!exchanged) return exchanged.error();
    if (exchanged->unsynced)
        if (const Status synced = exchanged->unsynced->sync(); !synced) return synced.error();
    return std::move(exchanged->answer);
}

std::optional<std::string> LocalStore::state() {
    if (!opened_) return std::nullopt;
    return state_of(opened_->paths.file) + "; " + state_of(opened_->paths.edits);
}

Status LocalStore::ask_for_turn(const std::string& name) {
    if (!opened_ || !opened_->to_write) return never_opened();
    const auto lock = FileLock::take(opened_->paths.lock, say_, [this] { std::ignore = give_signs(); });
    return lock ? ask_for_turn_locked(opened_->paths, name) : Status(lock.error());
}

Status LocalStore::give_signs() {
    const Instant now = instant_now();
    for (const auto& [worker, lease] : given_)
        if (const Status given = write_sign(opened_->paths.alive, worker, lease); !given) return given;
    signs_given_ = now;
    if (signed_at_) signed_at_(now);
    return success();
}

Status LocalStore::renew_signs() {
    if (given_.empty() || instant_now() < signs_given_ + between_signs(given_)) return success();
    return give_signs();
}

Result<std::string> LocalStore::previous_log() {
    if (!opened_) return never_opened();
    const std::string& path = opened_->paths.previous_edits;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) return std::string();
    struct stat found {};
    std::string bytes;
    if (!file.valid() || ::fstat(file.get(), &found) != 0 ||
        !read_range(file.get(), 0, static_cast<std::uint64_t>(found.st_size), bytes))
        return problem("read", path);
    return bytes;
}

Status LocalStore::beat(text::WorkerId worker, Duration lease) {
    if (!opened_) return never_opened();
    given_[worker] = lease;
    return write_sign(opened_->paths.alive, worker, lease);
}

Status LocalStore::remove_sign(text::WorkerId worker) {
    if (!opened_) return never_opened();
    given_.erase(worker);
    return store::remove_sign(opened_->paths.alive, worker);
}

Result<std::vector<Sign>> LocalStore::signs() {
    if (!opened_) return never_opened();
    return read_signs(opened_->paths.alive, opened_->to_write);
}

Result<MasterTime> LocalStore::time() {
    const WallMicros now = wall_now();
    const auto seconds = static_cast<std::time_t>(now / micros_per_second);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return MasterTime{now, std::chrono::seconds(local.tm_gmtoff)};
}

Result<std::unique_ptr<ListStore::Held>> LocalStore::hold() {
    if (!opened_) return never_opened();
    auto lock = FileLock::take(opened_->paths.lock, say_);
    if (!lock) return lock.error();
    return std::unique_ptr<Held>(std::make_unique<HeldHere>(std::move(*lock)));
}

}  // namespace wq::shared_list::store
