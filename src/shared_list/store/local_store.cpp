#include "shared_list/store/local_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/units.h"
#include "shared_list/store/file_lock.h"
#include "shared_list/store/identity.h"
#include "shared_list/store/local_exchange.h"
#include "shared_list/store/local_signs.h"
#include "shared_list/store/local_view.h"
#include "shared_list/store/paths.h"
#include "shared_list/store/problem.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

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
