#include "node/usage/disk_meter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <string_view>

#include "node/process/functions.h"

namespace wq::node::usage {

namespace {

constexpr std::int64_t stat_block_bytes = 512;  // the unit of st_blocks

}  // namespace

DiskWalk::Folder DiskWalk::open(int in, const char* name, int flags, FileIdentity& place) {
    const int fd = ::openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0) return nullptr;
    Folder folder(fdopendir(fd));
    struct stat status {};
    if (!folder || fstat(fd, &status) != 0) {
        if (!folder) close(fd);
        return nullptr;
    }
    place = {status.st_dev, status.st_ino};
    return folder;
}

bool DiskWalk::go_on(std::int64_t entries, Instant until) {
    ++turns_;
    while (!levels_.empty() || begin_next()) {
        if (step() && --entries <= 0) return false;
        if (until != Instant::max() && instant_now() >= until) return false;
    }
    return true;
}

// True if it visited an entry.
bool DiskWalk::step() {
    Level& level = levels_.back();
    if (const dirent* const entry = here_ && !level.read ? readdir(here_.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") return false;
        count(entry->d_name);
        return true;
    }
    level.read = true;
    level.below.empty() ? go_up() : go_down();
    return false;
}

bool DiskWalk::begin_next() {
    if (given_.empty()) return false;
    Level first;
    first.name = std::move(given_.back());
    given_.pop_back();
    here_ = open(AT_FDCWD, first.name.c_str(), 0, first.place);
    levels_.push_back(std::move(first));
    return true;
}

void DiskWalk::count(const char* name) {
    struct stat status {};
    if (fstatat(dirfd(here_.get()), name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return;
    ++found_.files;
    const bool is_folder = S_ISDIR(status.st_mode);
    if (is_folder || status.st_nlink < 2 || named_again_.emplace(status.st_dev, status.st_ino).second)
        found_.bytes += std::int64_t{status.st_blocks} * stat_block_bytes;
    if (is_folder && status.st_dev == levels_.front().place.first) levels_.back().below.emplace_back(name);
}

// A folder is read completely before its subfolders are entered, so only one folder is open at a time.
void DiskWalk::go_down() {
    Level next;
    next.name = std::move(levels_.back().below.back());
    levels_.back().below.pop_back();
    Folder below = open(dirfd(here_.get()), next.name.c_str(), O_NOFOLLOW, next.place);
    if (!below || next.place.first != levels_.front().place.first) return;
    here_ = std::move(below);
    levels_.push_back(std::move(next));
}

void DiskWalk::go_up() {
    levels_.pop_back();
    if (levels_.empty()) return here_.reset();
    FileIdentity place;
    here_ = open(dirfd(here_.get()), "..", 0, place);
    if (!here_ || place != levels_.back().place) find_again();
}

// The current folder was moved, or may not be searched. Goes down from the top again, as far as folders are
// where they were.
void DiskWalk::find_again() {
    std::size_t found = 0;
    Folder above;
    for (const Level& level : levels_) {
        FileIdentity place;
        Folder folder = found == 0 ? open(AT_FDCWD, level.name.c_str(), 0, place)
                                   : open(dirfd(above.get()), level.name.c_str(), O_NOFOLLOW, place);
        if (!folder || place != level.place) break;
        above = std::move(folder);
        ++found;
    }
    levels_.resize(found);
    here_ = std::move(above);
}

namespace {

constexpr int socket_place = 3;
constexpr std::size_t longest_request = 64u << 10;
constexpr std::int64_t rest_for_work = 199;                        // 0.5 % of a core
constexpr Duration longest_rest = std::chrono::seconds(20);        // longer would look like a hang
constexpr Duration worth_resting = std::chrono::milliseconds(50);  // shorter rests are combined
constexpr std::int64_t entries_of_turn = 512;                      // 1 to 2 ms of work,
constexpr Duration time_of_turn = std::chrono::seconds(1);         // except on a loaded file system
constexpr Duration longest_turn = std::chrono::seconds(60);        // if others use the disk and core too

// Makes the process rest in proportion to its work.
class Budget {
  public:
    void pay() {
        const Duration now = process::cpu_time(CLOCK_PROCESS_CPUTIME_ID);
        owed_ += rest_for_work * (now - paid_);
        paid_ = now;
        if (owed_ < worth_resting) return;
        pollfd hung_up{socket_place, 0, 0};
        const Instant begin = instant_now();
        const Duration rest = std::min(owed_, longest_rest);
        poll(&hung_up, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(rest).count()));
        if (hung_up.revents != 0) _exit(0);
        owed_ = std::max(Duration::zero(), owed_ - (instant_now() - begin));
    }

  private:
    Duration paid_ = process::cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    Duration owed_{};
};

void take_low_priority() {
    constexpr int of_process = 1;
    constexpr int idle_class = 3 << 13;  // libc does not define these
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, of_process, 0, idle_class);
}

struct DiskRequest {
    std::uint64_t number = 0;
    std::vector<std::string> folders;  // empty: forget the walk
};

DiskRequest next_request(std::vector<char>& buffer) {
    const ssize_t got = recv(socket_place, buffer.data(), buffer.size(), 0);
    DiskRequest request;
    if (got < static_cast<ssize_t>(sizeof request.number)) _exit(0);
    std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
    std::memcpy(&request.number, rest.data(), sizeof request.number);
    rest.remove_prefix(sizeof request.number);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\0'), rest.size());
        request.folders.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return request;
}

[[noreturn]] void meter_main() {
    prctl(PR_SET_NAME, "wq_disk");
    take_low_priority();
    if (chdir("/") != 0) _exit(1);
    std::vector<char> buffer(longest_request);
    std::map<std::uint64_t, DiskWalk> walks;
    Budget budget;
    for (;;) {
        DiskRequest request = next_request(buffer);
        if (request.folders.empty()) {
            walks.erase(request.number);
            continue;
        }
        DiskWalk& walk = walks.try_emplace(request.number, std::move(request.folders)).first->second;
        const bool whole = walk.go_on(entries_of_turn, instant_now() + time_of_turn);
        const DiskMeter::Answer answer{request.number, walk.found(), whole, walk.in_one_turn()};
        if (whole) walks.erase(request.number);
        if (send(socket_place, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) _exit(0);
        budget.pay();
    }
}

}  // namespace

pid_t DiskMeter::start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    Descriptor ours(ends[0]);
    const Descriptor theirs(ends[1]);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (theirs.get() != socket_place) dup2(theirs.get(), socket_place);
        close_from(socket_place + 1);
        meter_main();
    }
    gone();
    if (pid > 0) socket_ = std::move(ours), pid_ = pid;
    return pid;
}

bool DiskMeter::send_request(std::uint64_t number, const std::string& folders) {
    std::string request(reinterpret_cast<const char*>(&number), sizeof number);
    request += folders;
    if (request.size() > longest_request) return false;
    const ssize_t put = send(socket_.get(), request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN) gone();
    return put > 0;
}

void DiskMeter::ask(std::uint64_t number, const std::vector<std::string>& folders, Instant now) {
    std::string text;
    for (const std::string& folder : folders) text += folder, text += '\0';
    busy_ = send_request(number, text);
    if (!busy_) return;
    begun_.insert(number);
    asked_ = number;
    asked_at_ = now;
}

void DiskMeter::forget(std::uint64_t number) {
    if (begun_.erase(number) == 0 || !running()) return;
    // If its socket takes no more, it hangs: killing it also drops its walks.
    if (!send_request(number, {}) && running()) give_up();
}

std::optional<DiskMeter::Answer> DiskMeter::answer() {
    Answer answer;
    const ssize_t got = recv(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got != sizeof answer) {
        gone();
        return std::nullopt;
    }
    busy_ = false;
    if (answer.whole) begun_.erase(answer.number);
    return answer;
}

std::optional<Instant> DiskMeter::late_at() const {
    if (!busy_) return std::nullopt;
    return asked_at_ + longest_turn;
}

std::uint64_t DiskMeter::give_up() {
    pollfd other_end{socket_.get(), 0, 0};
    poll(&other_end, 1, 0);
    // Otherwise it has ended by itself, and its pid may be reused.
    if ((other_end.revents & POLLHUP) == 0) kill(pid_, SIGKILL);
    gone();
    return asked_;
}

void DiskMeter::gone() {
    socket_.reset();  // also leaves the epoll set
    busy_ = false;
    begun_.clear();
}

}  // namespace wq::node::usage
