#include "app/registry.h"

#include <regex.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/units.h"
#include "stats/append_file.h"
#include "stats/run_status.h"

namespace wq::app {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* suffix = ".manager";
constexpr std::uintmax_t longest_entry = 64u << 10;

// A POSIX extended regular expression for whole names.
class Pattern {
  public:
    static Result<Pattern> of(const std::string& text) {
        Pattern pattern;
        const int wrong =
            ::regcomp(pattern.compiled_.get(), ("^(" + text + ")$").c_str(), REG_EXTENDED | REG_NOSUB);
        if (wrong == 0) {
            pattern.usable_ = true;
            return pattern;
        }
        std::array<char, 200> why{};
        ::regerror(wrong, pattern.compiled_.get(), why.data(), why.size());
        return Error{ExitCode::usage, quote_for_message(text) + " is no regular expression: " + why.data()};
    }
    Pattern(Pattern&& other) noexcept
        : compiled_(std::move(other.compiled_)), usable_(std::exchange(other.usable_, false)) {}
    ~Pattern() {
        if (usable_) ::regfree(compiled_.get());
    }
    bool matches(const std::string& name) const {
        return ::regexec(compiled_.get(), name.c_str(), 0, nullptr, 0) == 0;
    }

  private:
    Pattern() = default;
    std::unique_ptr<regex_t> compiled_ = std::make_unique<regex_t>();
    bool usable_ = false;
};

// A name as part of a file name: other bytes than letters, digits and -_. as %XX.
std::string escaped(const std::string& name) {
    constexpr std::size_t longest = 150;
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           c == '-' || c == '_' || (c == '.' && !text.empty());
        if (plain)
            text += c;
        else
            text += {'%', digits[byte >> 4], digits[byte & 15]};
        if (text.size() > longest) break;
    }
    return text;
}

std::string entry_text(const transport::Contact& contact, const Workload& load) {
    json entry;
    entry["contact"] = json::parse(transport::to_json(contact));
    entry["waiting"] = load.waiting;
    entry["workers"] = load.workers;
    return entry.dump(1) + "\n";
}

std::optional<Listing> parse_entry(const std::string& text) {
    const json entry = json::parse(text, nullptr, false);
    if (!entry.is_object() || !entry.contains("contact")) return std::nullopt;
    const auto number = [&](const char* key) {
        const auto found = entry.find(key);
        return found != entry.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
    };
    auto contact =
        transport::parse_contact(entry["contact"].dump(-1, ' ', false, json::error_handler_t::replace));
    if (!contact) return std::nullopt;
    return Listing{std::move(*contact), {number("waiting"), number("workers")}};
}

// Who can write in the folder can send workers to a manager of his own.
Status make_folder(const std::string& folder) {
    std::error_code failed;
    const fs::path parent = fs::path(folder).parent_path();
    if (!parent.empty()) fs::create_directories(parent, failed);
    const auto refuse = [&](const std::string& why) {
        return Error{ExitCode::not_allowed, "the registry of managers " + folder + " " + why};
    };
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return refuse(std::string("cannot be made: ") + std::strerror(errno) +
                      "; name another folder in WORK_QUEUE_REGISTRY");
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return refuse("is no folder");
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse("can be written by others; chmod go-w it, or name another in WORK_QUEUE_REGISTRY");
    return success();
}

class Entry : public Registration {
  public:
    Entry(std::string path, transport::Contact contact, Duration every)
        : path_(std::move(path)), contact_(std::move(contact)), every_(every) {}

    ~Entry() override {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        changed_.notify_one();
        if (thread_.joinable()) thread_.join();
        ::unlink(path_.c_str());
    }

    Status start() {
        if (Status written = write({}); !written) return written;
        thread_ = std::thread([this] { keep(); });
        return success();
    }

    void tell(const Workload& load) override {
        {
            const std::lock_guard lock(mutex_);
            urgent_ = urgent_ || (load.waiting > 0) != (load_.waiting > 0);
            load_ = load;
            if (!urgent_) return;
        }
        changed_.notify_one();
    }

  private:
    void keep() {
        std::unique_lock lock(mutex_);
        while (!ended_) {
            changed_.wait_for(lock, every_, [this] { return ended_ || urgent_; });
            if (ended_) return;
            urgent_ = false;
            const Workload load = load_;
            lock.unlock();
            // A file system that is away is tried again at the next turn.
            static_cast<void>(write(load));
            lock.lock();
        }
    }
    // mkstemp() makes files of mode 0600: the entry holds the key.
    Status write(const Workload& load) const {
        const std::string text = entry_text(contact_, load);
        std::string part = fs::path(path_).parent_path().string() + "/.new-XXXXXX";
        const stats::Descriptor file(::mkstemp(part.data()));
        if (!file) return stats::write_error(part, errno);
        const bool whole = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
        if (whole && ::rename(part.c_str(), path_.c_str()) == 0) return success();
        const Error failed = stats::write_error(path_, errno);
        ::unlink(part.c_str());
        return failed;
    }

    std::string path_;
    transport::Contact contact_;
    Duration every_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Workload load_;
    bool urgent_ = false;
    bool ended_ = false;
    std::thread thread_;
};

// The file system's own clock, by a file of ours.
std::optional<timespec> clock_of(const std::string& folder) {
    std::string probe = folder + "/.now-XXXXXX";
    const int file = ::mkstemp(probe.data());
    if (file < 0) return std::nullopt;
    struct stat found {};
    const bool told = ::fstat(file, &found) == 0;
    ::unlink(probe.c_str());
    ::close(file);
    if (!told) return std::nullopt;
    return found.st_mtim;
}

Duration since(const timespec& then, const timespec& now) {
    return std::chrono::seconds(now.tv_sec - then.tv_sec) +
           std::chrono::nanoseconds(now.tv_nsec - then.tv_nsec);
}

bool is_gone(const transport::Contact& contact) {
    return contact.host == stats::host_name() && contact.pid > 0 &&
           ::kill(static_cast<pid_t>(contact.pid), 0) != 0 && errno == ESRCH;
}

// What nobody else than this user (or root) may have written.
bool is_trusted(const struct stat& file) {
    return S_ISREG(file.st_mode) && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (file.st_uid == ::geteuid() || file.st_uid == 0);
}

std::optional<Listing> read_entry(const std::string& path, const timespec& now, Duration stale) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0 || !is_trusted(found)) return std::nullopt;
    if (static_cast<std::uintmax_t>(found.st_size) > longest_entry) return std::nullopt;
    if (since(found.st_mtim, now) > stale) return std::nullopt;
    const auto text = stats::read_whole(path);
    if (!text) return std::nullopt;
    auto listing = parse_entry(*text);
    if (!listing || !is_gone(listing->contact)) return listing;
    ::unlink(path.c_str());
    return std::nullopt;
}

}  // namespace

std::string registry_folder() {
    const auto variable = [](const char* name) -> std::string {
        const char* value = std::getenv(name);
        return value != nullptr ? value : "";
    };
    if (const std::string folder = variable("WORK_QUEUE_REGISTRY"); !folder.empty()) return folder;
    std::string state = variable("XDG_STATE_HOME");
    if (state.empty()) state = variable("HOME") + "/.local/state";
    return state + "/work_queue/managers";
}

Result<std::unique_ptr<Registration>> register_manager(const std::string& folder,
                                                       const transport::Contact& contact, Duration every) {
    if (contact.name.empty() || std::any_of(contact.name.begin(), contact.name.end(),
                                            [](char c) { return static_cast<unsigned char>(c) < 32; }))
        return Error{ExitCode::usage,
                     "a manager's name needs at least one letter, and no control characters"};
    if (Status made = make_folder(folder); !made) return made.error();
    // Several managers of one process and name have ports of their own.
    const std::string path = folder + "/" + escaped(contact.name) + "-" + escaped(contact.host) + "-" +
                             std::to_string(contact.pid) + "-" + std::to_string(contact.port) + suffix;
    auto entry = std::make_unique<Entry>(path, contact, every);
    if (Status started = entry->start(); !started)
        return Error{ExitCode::not_allowed, "the name cannot be registered: " + started.error().message +
                                                "; name another folder in WORK_QUEUE_REGISTRY"};
    return std::unique_ptr<Registration>(std::move(entry));
}

Status check_manager_pattern(const std::string& pattern) {
    const auto compiled = Pattern::of(pattern);
    if (!compiled) return compiled.error();
    return success();
}

Result<std::vector<Listing>> find_managers(const std::string& folder, const std::string& pattern,
                                           std::uint64_t seed, Duration stale) {
    const auto wanted = Pattern::of(pattern);
    if (!wanted) return wanted.error();
    std::vector<Listing> managers;
    timespec now{};
    if (const auto clock = clock_of(folder))
        now = *clock;
    else
        ::clock_gettime(CLOCK_REALTIME, &now);
    std::error_code failed;
    for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed)) {
        if (file->path().extension() != suffix) continue;
        auto listing = read_entry(file->path().string(), now, stale);
        if (listing && wanted->matches(listing->contact.name)) managers.push_back(std::move(*listing));
    }
    std::shuffle(managers.begin(), managers.end(), std::mt19937_64(seed));
    std::stable_partition(managers.begin(), managers.end(),
                          [](const Listing& listing) { return listing.load.waiting > 0; });
    return managers;
}

}  // namespace wq::app
