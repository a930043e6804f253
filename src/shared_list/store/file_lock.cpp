#include "shared_list/store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/signals.h"
#include "base/time.h"
#include "base/units.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

constexpr std::chrono::milliseconds sign_period{500};  // a quarter of the shortest lease
constexpr std::chrono::seconds notice_delay{2};        // workers hold the lock for milliseconds

Descriptor open_lock(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
    // To lock it, reading is enough: it may be another user's.
    if (!file.valid()) file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return file;
}

int lock_now(int file, int how) {
    while (::flock(file, how) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

// flock() has no time limit, so another thread waits in it.
int wait_for_lock(int file, const std::string& path, const Say& say, const std::function<void()>& meanwhile) {
    std::mutex mutex;
    std::condition_variable ended;
    int error = -1;  // it waits
    std::thread waiter = quiet_thread([&] {
        const int got = lock_now(file, LOCK_EX);
        const std::lock_guard guard(mutex);
        error = got;
        ended.notify_one();
    });
    {
        std::unique_lock guard(mutex);
        const Instant begun = instant_now();
        bool said = false;
        while (!ended.wait_for(guard, sign_period, [&] { return error >= 0; })) {
            guard.unlock();
            if (meanwhile) meanwhile();
            if (!said && say && instant_now() - begun >= notice_delay) {
                say(waits_for_lock(path));
                said = true;
            }
            guard.lock();
        }
        guard.unlock();
        if (said && error == 0) say(has_lock(path));
    }
    waiter.join();
    return error;
}

// Somebody may have removed or replaced the file while we waited: others would lock another one.
bool is_still(int file, const std::string& path) {
    struct stat ours {};
    const auto theirs = stat_of(path);
    return theirs && ::fstat(file, &ours) == 0 && ours.st_ino == theirs->st_ino &&
           ours.st_dev == theirs->st_dev;
}

}  // namespace

std::string waits_for_lock(const std::string& path) {
    return "waiting for the lock " + line_for_message(path, 400) +
           ", which another process holds (runtask --lock?)";
}

std::string has_lock(const std::string& path) {
    return "got the lock " + line_for_message(path, 400);
}

Result<FileLock> FileLock::take(const std::string& path, const Say& say,
                                const std::function<void()>& meanwhile) {
    while (true) {
        Descriptor file = open_lock(path);
        if (!file.valid()) return problem("open the lock", path);
        int error = lock_now(file.get(), LOCK_EX | LOCK_NB);
        if (error == EWOULDBLOCK) error = wait_for_lock(file.get(), path, say, meanwhile);
        if (error != 0) return problem("lock", path, error);
        if (is_still(file.get(), path)) return FileLock(std::move(file));
    }
}

}  // namespace wq::shared_list::store
