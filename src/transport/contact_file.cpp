#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/units.h"
#include "transport/contact.h"

namespace wq::transport {

namespace {

constexpr std::size_t most_contact_bytes = 1u << 20;
constexpr std::size_t most_password_bytes = 64u << 10;

class File {
  public:
    File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const { return descriptor_; }
    bool is_open() const { return descriptor_ >= 0; }

  private:
    int descriptor_;
};

std::string last_error() {
    return std::system_category().message(errno);
}

bool write_all(int descriptor, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += static_cast<std::size_t>(wrote);
    }
    return true;
}

// Up to one byte more than `most`.
bool read_all(int descriptor, std::size_t most, std::string& text) {
    char piece[4096];
    while (text.size() <= most) {
        const ssize_t got = ::read(descriptor, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        text.append(piece, static_cast<std::size_t>(got));
    }
    return true;
}

void sync_folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const File folder(slash == std::string::npos ? "." : path.substr(0, slash + 1), O_RDONLY | O_DIRECTORY);
    if (folder.is_open()) ::fsync(folder.get());
}

// The key in it opens the run to whoever reads it, and what somebody else wrote leads to his manager.
Status check_owner(int descriptor, const std::string& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return Error{ExitCode::bad_input, path + ": " + last_error()};
    if (!S_ISREG(status.st_mode)) return Error{ExitCode::bad_input, path + ": is no file"};
    if (status.st_uid != ::geteuid() && ::geteuid() != 0)
        return Error{ExitCode::not_allowed, path + ": belongs to another user (uid " +
                                                std::to_string(status.st_uid) +
                                                "): use a contact file of your own run"};
    if ((status.st_mode & 077) != 0)
        return Error{ExitCode::not_allowed,
                     path + ": others may read or change it, and it holds a key: chmod 600 " + path +
                         ", and start the manager anew if it was read"};
    return success();
}

}  // namespace

Status write_contact(const std::string& path, const Contact& contact) {
    const std::string fresh = path + ".new-" + std::to_string(::getpid());
    ::unlink(fresh.c_str());
    bool written = false;
    {
        const File file(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
        written = file.is_open() && write_all(file.get(), to_json(contact)) && ::fsync(file.get()) == 0;
    }
    if (!written || ::rename(fresh.c_str(), path.c_str()) != 0) {
        const std::string why = last_error();
        ::unlink(fresh.c_str());
        return Error{ExitCode::bad_input, path + ": cannot be written: " + why};
    }
    sync_folder_of(path);
    return success();
}

Result<Contact> read_contact(const std::string& path) {
    const File file(path, O_RDONLY | O_NONBLOCK);
    if (!file.is_open() && errno == ENOENT)
        return Error{ExitCode::unreachable, path + ": no such file: has the manager started?"};
    if (!file.is_open()) return Error{ExitCode::not_allowed, path + ": " + last_error()};
    const Status owned = check_owner(file.get(), path);
    if (!owned) return owned.error();
    std::string text;
    if (!read_all(file.get(), most_contact_bytes, text))
        return Error{ExitCode::bad_input, path + ": " + last_error()};
    if (text.size() > most_contact_bytes)
        return Error{ExitCode::bad_input, path + ": too long for a contact file"};
    auto contact = parse_contact(text);
    if (!contact) return Error{contact.error().code, path + ": " + contact.error().message};
    return contact;
}

Result<std::string> read_password(const std::string& path) {
    const File file(path, O_RDONLY);
    std::string text;
    if (!file.is_open() || !read_all(file.get(), most_password_bytes, text))
        return Error{ExitCode::bad_input, "password file " + path + ": " + last_error()};
    if (text.empty())
        return Error{ExitCode::bad_input,
                     "password file " + path + ": is empty, and an empty password opens to all"};
    if (text.size() > most_password_bytes)
        return Error{ExitCode::bad_input, "password file " + path + ": has more than 64 KiB"};
    return text;
}

}  // namespace wq::transport
