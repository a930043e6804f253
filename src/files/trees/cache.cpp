#include "files/trees/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/remove_tree.h"
#include "files/trees/fingerprint.h"

namespace wq::files::trees {

namespace {

constexpr std::size_t checked_at_once = 4 << 20;
// Copying a smaller tree is as fast as checking and renaming it.
constexpr std::uint64_t worth_taking_back = 1 << 20;

// Ignores the time of change, because tasks may link to a cached file.
std::string fingerprint_of(const std::string& path) {
    return fingerprint_of(path, Compared::modification).print;
}

// For a copy: detects a write, a change of permissions, or a replaced file.
std::string exact_fingerprint_of(const std::string& path) {
    return fingerprint_of(path, Compared::any_change).print;
}

}  // namespace

Cache::Cache(std::string folder) : folder_(std::move(folder)) {}

Trouble Cache::open() {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return problem_of_errno(folder_, error.value());
    for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (is_key(name))
            trees_.insert({name, {0, false, 0, ""}});
        else
            remove_tree(AT_FDCWD, entry->path());
    }
    return error ? Trouble(problem_of_errno(folder_, error.value())) : Trouble{};
}

bool Cache::has(const std::string& key) {
    while (check_some(key)) continue;
    return trees_.contains(key);
}

bool Cache::check_some(const std::string& key) {
    const auto found = trees_.find(key);
    if (found == trees_.end() || found->second.trusted) return false;
    auto begun = checks_.find(key);
    if (begun == checks_.end()) {
        Check check{TreeReader(path_of(key)), fingerprint_of(path_of(key)), {}, 0};
        begun = checks_.emplace(key, std::move(check)).first;
    }
    Check& check = begun->second;
    std::string bytes;
    const auto trouble = check.reader.read(bytes, checked_at_once);
    check.maker.add(bytes);
    check.bytes += bytes.size();
    if (!trouble && !check.reader.done()) return true;
    if (trouble || check.maker.key() != key) {
        drop(key);
        return false;
    }
    found->second = {check.bytes, true, 0, std::move(check.fingerprint)};
    bytes_ += check.bytes;
    checks_.erase(begun);
    return false;
}

bool Cache::fresh(const std::string& key) {
    const auto found = trees_.find(key);
    if (found == trees_.end()) return false;
    if (fingerprint_of(path_of(key)) == found->second.fingerprint) return true;
    drop(key);
    return false;
}

void Cache::drop(const std::string& key) {
    const auto found = trees_.find(key);
    if (found == trees_.end()) return;
    bytes_ -= found->second.bytes;
    trees_.erase(found);
    checks_.erase(key);
    drop_spares(key);
    remove_tree(AT_FDCWD, path_of(key));
}

bool Cache::drop_spares(const std::string& key) {
    const auto [first, last] = spares_.equal_range(key);
    for (auto spare = first; spare != last; ++spare) remove_tree(AT_FDCWD, spare->second.path);
    return std::distance(first, last) > 0 && (spares_.erase(first, last), true);
}

bool Cache::make_room() {
    bool made = false;
    while (!spares_.empty()) made = drop_spares(std::string(spares_.begin()->first)) || made;
    if (made) return true;
    std::vector<std::pair<std::uint64_t, std::string>> oldest;
    for (const auto& [key, tree] : trees_) oldest.emplace_back(tree.placed, key);
    std::sort(oldest.begin(), oldest.end());
    oldest.resize((oldest.size() + 1) / 2);
    for (const auto& [placed, key] : oldest) drop(key);
    return !oldest.empty();
}

Trouble Cache::place(const std::string& key, const std::string& to, Sharing sharing) {
    Tree& tree = trees_[key];
    tree.placed = ++placements_;
    const bool large = sharing == Sharing::copied && tree.bytes >= worth_taking_back;
    if (!large || !place_spare(key, to))
        if (auto trouble = copy_tree(path_of(key), to, sharing)) return trouble;
    if (large) placed_copies_[to] = {key, exact_fingerprint_of(to)};
    return std::nullopt;
}

bool Cache::place_spare(const std::string& key, const std::string& to) {
    for (auto spare = spares_.find(key); spare != spares_.end(); spare = spares_.find(key)) {
        const Copy copy = std::move(spare->second);
        spares_.erase(spare);
        const bool untouched = exact_fingerprint_of(copy.path) == copy.fingerprint;
        if (untouched && ::rename(copy.path.c_str(), to.c_str()) == 0) return true;
        remove_tree(AT_FDCWD, copy.path);
    }
    return false;
}

void Cache::take_back(const std::string& at) {
    const auto placed_copy = placed_copies_.extract(at);
    if (placed_copy.empty()) return;
    const auto& [key, fingerprint] = placed_copy.mapped();
    if (!trees_.contains(key) || exact_fingerprint_of(at) != fingerprint) return;
    const std::string aside = folder_ + "/.spare." + std::to_string(++placements_);
    if (::rename(at.c_str(), aside.c_str()) == 0) spares_.insert({key, {aside, exact_fingerprint_of(aside)}});
}

Cache::Incoming::Incoming(Cache& cache, std::string key)
    : cache_(cache), key_(std::move(key)), writer_(cache.path_of(key_), TreeWriter::Purpose::shared) {}

Trouble Cache::Incoming::write(std::string_view bytes) {
    maker_.add(bytes);
    stream_bytes_ += bytes.size();
    return writer_.write(bytes);
}

Trouble Cache::Incoming::finish() {
    if (maker_.key() != key_)
        return Problem{Problem::Kind::refused,
                       cache_.path_of(key_) + ": the bytes that arrived differ from those announced"};
    if (cache_.has(key_)) return std::nullopt;  // it arrived twice
    if (auto trouble = writer_.finish()) return trouble;
    cache_.trees_[key_] = {stream_bytes_, true, ++cache_.placements_, fingerprint_of(cache_.path_of(key_))};
    cache_.bytes_ += stream_bytes_;
    return std::nullopt;
}

namespace {
constexpr int most_parts = 4096;  // for the workers of one host
}

Trouble KeptCache::take(const std::string& folder, const std::string& host) {
    for (int part = 0; part < most_parts; ++part) {
        const std::string path = folder + "/" + host + "." + std::to_string(part);
        std::error_code error;
        std::filesystem::create_directories(path, error);
        if (error) return problem_of_errno(path, error.value());
        const std::string name = path + "/lock";
        Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!lock.valid() && errno == EACCES) continue;  // belongs to another user
        if (!lock.valid()) return problem_of_errno(name, errno);
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
            lock_ = std::move(lock);
            path_ = path + "/contents";
            return std::nullopt;
        }
        if (errno != EWOULDBLOCK) return problem_of_errno(name, errno);
    }
    return Problem{Problem::Kind::unreadable, folder + ": all its parts are in use"};
}

namespace {

struct FolderEntry {
    int folder = AT_FDCWD;
    const std::string& name;
};

class Copier {
  public:
    Copier(const std::string& to, Sharing sharing) : to_(to), sharing_(sharing) {}

    Trouble copy(const FolderEntry& from, const FolderEntry& to) const {
        struct stat status {};
        if (::fstatat(from.folder, from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return failed();
        if (S_ISDIR(status.st_mode)) return copy_folder(from, to, status.st_mode & 0777);
        if (S_ISLNK(status.st_mode)) return copy_link(from, to);
        const bool linked = sharing_ == Sharing::linked &&
                            ::linkat(from.folder, from.name.c_str(), to.folder, to.name.c_str(), 0) == 0;
        return linked ? Trouble{} : copy_file(from, to, status);
    }

  private:
    Problem failed() const { return problem_of_errno(to_, errno); }

    Trouble copy_folder(const FolderEntry& from, const FolderEntry& to, mode_t mode) const {
        const Descriptor source(
            ::openat(from.folder, from.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!source.valid() || ::mkdirat(to.folder, to.name.c_str(), 0700) != 0) return failed();
        const Descriptor target(
            ::openat(to.folder, to.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!target.valid()) return failed();
        if (auto trouble = copy_children(source.get(), target.get())) return trouble;
        return ::fchmod(target.get(), mode) == 0 ? Trouble{} : failed();
    }

    Trouble copy_children(int source, int target) const {
        const int copy = ::fcntl(source, F_DUPFD_CLOEXEC, 0);
        DIR* const stream = copy < 0 ? nullptr : ::fdopendir(copy);
        if (stream == nullptr) return failed();
        Trouble trouble;
        while (const dirent* entry = trouble ? nullptr : ::readdir(stream)) {
            const std::string name = entry->d_name;
            if (name != "." && name != "..") trouble = this->copy({source, name}, {target, name});
        }
        ::closedir(stream);
        return trouble;
    }

    Trouble copy_link(const FolderEntry& from, const FolderEntry& to) const {
        std::array<char, 4097> target{};
        if (::readlinkat(from.folder, from.name.c_str(), target.data(), target.size() - 1) < 0 ||
            ::symlinkat(target.data(), to.folder, to.name.c_str()) != 0)
            return failed();
        return std::nullopt;
    }

    Trouble copy_file(const FolderEntry& from, const FolderEntry& to, const struct stat& status) const {
        const Descriptor source(::openat(from.folder, from.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!source.valid()) return failed();
        const Descriptor target(
            ::openat(to.folder, to.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!target.valid()) return failed();
        if (::ioctl(target.get(), FICLONE, source.get()) != 0) {
            for (ssize_t sent = 1; sent > 0;) {
                sent = ::copy_file_range(source.get(), nullptr, target.get(), nullptr, 1 << 30, 0);
                if (sent < 0) sent = ::sendfile(target.get(), source.get(), nullptr, 1 << 30);
                if (sent < 0) return failed();
            }
        }
        // Rounded to a whole second, so that even a write within the same clock tick is detected.
        const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, timespec{status.st_mtim.tv_sec, 0}};
        // A copy is the task's own: it may write to it.
        const mode_t mode = (status.st_mode & 0777) | 0200;
        return ::futimens(target.get(), times.data()) == 0 && ::fchmod(target.get(), mode) == 0 ? Trouble{}
                                                                                                : failed();
    }

    const std::string& to_;
    Sharing sharing_;
};

}  // namespace

Trouble copy_tree(const std::string& from, const std::string& to, Sharing sharing) {
    return Copier(to, sharing).copy({AT_FDCWD, from}, {AT_FDCWD, to});
}

}  // namespace wq::files::trees
