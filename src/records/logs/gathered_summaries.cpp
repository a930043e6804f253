#include "records/logs/gathered_summaries.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/descriptor.h"
#include "base/write_all.h"

namespace wq::records::logs {

namespace {

struct Gathered {
    std::mutex mutex;
    bool begun = false;
};

// Never destroyed: a thread that a folder blocked may return while the process ends.
std::shared_ptr<Gathered> gathered_at(const std::string& path) {
    static auto& mutex = *new std::mutex;
    static auto& all = *new std::map<std::string, std::shared_ptr<Gathered>>;
    const std::lock_guard lock(mutex);
    std::shared_ptr<Gathered>& one = all[path];
    if (!one) one = std::make_shared<Gathered>();
    return one;
}

// Links it to the first free name; "": the file system has no links.
std::string linked_aside(const std::string& path) {
    for (int number = 1;; ++number) {
        std::string aside = path + "." + std::to_string(number);
        if (::link(path.c_str(), aside.c_str()) == 0) return aside;
        if (errno != EEXIST) return "";
    }
}

// Keeps the file of an earlier process with our pid, or of one on another host: it is somebody's data. If it
// can have no other name, or another user owns it in a folder that does not allow removing its name, we
// append to it.
void put_aside(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const std::string aside = linked_aside(path);
    if (!aside.empty() && ::unlink(path.c_str()) != 0) ::unlink(aside.c_str());
}

}  // namespace

int append_summary(const std::string& path, const std::string& line) {
    const std::shared_ptr<Gathered> gathered = gathered_at(path);
    const std::lock_guard lock(gathered->mutex);
    if (!gathered->begun) put_aside(path);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
    if (!file.valid()) return errno;
    gathered->begun = true;
    const off_t whole_lines = ::lseek(file.get(), 0, SEEK_END);
    const int error = write_all(file.get(), line) ? 0 : errno;
    // Half a line would also spoil the next one. If truncating fails, too, the reader skips both.
    if (error != 0 && whole_lines >= 0) [[maybe_unused]]
        const int cut = ::ftruncate(file.get(), whole_lines);
    return error;
}

}  // namespace wq::records::logs
