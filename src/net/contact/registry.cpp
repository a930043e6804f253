#include "net/contact/registry.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/json.h"
#include "base/read_write.h"
#include "base/units.h"
#include "net/contact/named_managers.h"
#include "net/contact/repeated_work.h"
#include "records/journal/append_file.h"
#include "records/journal/run_status.h"

namespace wq::net::contact {

namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".manager";
constexpr const char* suffix_of_runs = ".run";
constexpr const char* suffix_of_unnamed = ".unnamed";
constexpr const char* suffix_of_factories = ".factory";
constexpr const char* unfinished = ".new-";  // prefix of files that a killed process left
constexpr const char* probe_of_clock = ".now-";
constexpr std::uintmax_t longest_entry = 64u << 10;

// A name as part of a file name: bytes other than letters, digits and -_. become %XX.
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

std::string entry_text(const frames::Contact& contact, const Workload& load) {
    const Json entry{{"contact", Json::parse(frames::to_json(contact))},
                     {"priority", load.priority},
                     {"waiting", load.waiting},
                     {"workers", load.workers}};
    return entry.dump(1) + "\n";
}

std::optional<Listing> parse_entry(const std::string& text) {
    const Json entry = Json::parse(text);
    const Json* const of = entry.find("contact");
    if (of == nullptr) return std::nullopt;
    const auto number = [&](const char* key) {
        const Json* const found = entry.find(key);
        return found != nullptr && found->is_number_unsigned() ? static_cast<std::uint64_t>(found->integer())
                                                               : 0;
    };
    auto contact = frames::parse_contact(of->dump());
    if (!contact) return std::nullopt;
    const Json* const priority = entry.find("priority");
    const bool ranked = priority != nullptr && priority->is_number_integer();
    return Listing{std::move(*contact),
                   {number("waiting"), number("workers"), ranked ? priority->integer() : 0}};
}

Error refused_folder(const std::string& folder, const std::string& why) {
    return {ExitCode::not_allowed, "the registry of managers " + folder + " " + why};
}

// Whoever can write in the folder can redirect workers to another manager.
Status check_folder(const std::string& folder) {
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode))
        return refused_folder(folder, "is not a folder");
    if (found.st_uid != ::geteuid() && found.st_uid != 0)
        return refused_folder(folder, "is another user's; name another in WORK_QUEUE_REGISTRY");
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refused_folder(
            folder, "can be written by others; chmod go-w it, or name another in WORK_QUEUE_REGISTRY");
    return success();
}

Status make_folder(const std::string& folder) {
    std::error_code failed;
    const fs::path parent = fs::path(folder).parent_path();
    if (!parent.empty()) fs::create_directories(parent, failed);
    if (!failed && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        failed.assign(errno, std::generic_category());
    if (failed)
        return refused_folder(folder, "cannot be created: " + failed.message() +
                                          "; name another folder in WORK_QUEUE_REGISTRY");
    return check_folder(folder);
}

// mkstemp() makes files of mode 0600: an entry holds the key.
Status write_file(const std::string& path, const std::string& text) {
    std::string part = fs::path(path).parent_path().string() + "/" + unfinished + "XXXXXX";
    const Descriptor file(::mkstemp(part.data()));
    if (!file.valid()) return records::journal::write_error(part, errno);
    if (write_all(file.get(), text) && ::rename(part.c_str(), path.c_str()) == 0) return success();
    const Error failed = records::journal::write_error(path, errno);
    ::unlink(part.c_str());
    return failed;
}

Status write_entry(const std::string& path, const frames::Contact& contact, const Workload& load) {
    return write_file(path, entry_text(contact, load));
}

// The file system's own clock, read from a file that we create.
std::optional<timespec> clock_of(const std::string& folder) {
    std::string probe = folder + "/" + probe_of_clock + "XXXXXX";
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

bool is_gone(const frames::Contact& contact) {
    return records::journal::is_gone(contact.host, contact.pid);
}

// Only this user (or root) can have written it.
bool is_trusted(const struct stat& file) {
    return S_ISREG(file.st_mode) && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (file.st_uid == ::geteuid() || file.st_uid == 0);
}

// Checks and reads the same open file: the name may be replaced in between.
std::optional<std::string> read_trusted(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat found {};
    if (!file.valid() || ::fstat(file.get(), &found) != 0 || !is_trusted(found)) return std::nullopt;
    std::string text(longest_entry, '\0');
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    if (got <= 0 || static_cast<std::uintmax_t>(got) == longest_entry) return std::nullopt;
    text.resize(static_cast<std::size_t>(got));
    return text;
}

// Since it was written.
Duration age_of(const std::string& path, const timespec& now) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? since(found.st_mtim, now) : Duration{};
}

timespec now_in(const std::string& folder) {
    timespec now{};
    if (const auto clock = clock_of(folder)) return *clock;
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

// By its name; other files in the folder are not ours.
bool is_unfinished(const std::string& name) {
    constexpr std::size_t unique_letters = 6;  // mkstemp's
    return (name.starts_with(unfinished) || name.starts_with(probe_of_clock)) &&
           name.size() == std::strlen(unfinished) + unique_letters;
}

// Passes each current entry to `each` and removes the others, whoever owns them; other users' files only if
// the folder permits. One that was not written for long belongs to a manager that is gone; one that was only
// suspended writes it again.
void go_through(const std::string& folder, Duration stale, const std::function<void(Listing)>& each) {
    const timespec now = now_in(folder);
    std::error_code failed;
    for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed)) {
        const std::string path = file->path().string();
        const Duration age = age_of(path, now);
        const bool abandoned = age > stale;
        if (is_unfinished(file->path().filename())) {
            if (abandoned) ::unlink(path.c_str());
            continue;
        }
        if (file->path().extension() != suffix) continue;
        const auto text = read_trusted(path);
        auto listing = text ? parse_entry(*text) : std::nullopt;
        if (!listing) continue;
        listing->age = age;
        listing->path = path;
        if (abandoned || is_gone(listing->contact))
            ::unlink(path.c_str());
        else
            each(std::move(*listing));
    }
}

// Rewrites the entry: once started, only its thread accesses the file system, which may be an unavailable
// shared one.
class Entry final : public Registration {
  public:
    Entry(std::string path, frames::Contact contact, std::function<void(const std::string&)> say,
          Duration every)
        : file_(std::make_shared<const File>(File{std::move(path), std::move(contact)})),
          writing_(options_of(file_, std::move(say), every)) {
        post(RepeatedWork::When::with_next_repetition);
    }
    void publish_load(const Workload& load) override {
        if (load == load_) return writing_.report_outcome();
        const bool urgent = (load.waiting > 0) != (load_.waiting > 0);
        load_ = load;
        post(urgent ? RepeatedWork::When::at_once : RepeatedWork::When::with_next_repetition);
    }

  private:
    struct File {
        std::string path;
        frames::Contact contact;
    };
    using SharedFile = std::shared_ptr<const File>;

    static RepeatedWorkOptions options_of(const SharedFile& file, std::function<void(const std::string&)> say,
                                          Duration every) {
        RepeatedWorkOptions options;
        options.every = every;
        options.last = [file] { ::unlink(file->path.c_str()); };
        if (say) options.say = std::move(say);
        options.failed = [](const std::string& why) {
            return "the entry of this manager in the registry cannot be written: " + why +
                   "; workers do not find it by name after 2 minutes";
        };
        options.succeeded_again = "the entry of this manager in the registry is written again";
        options.not_ended = "the registry of managers did not answer within " +
                            format_duration(options.timeout) +
                            ": the entry of this manager may remain, and is skipped after 2 minutes";
        return options;
    }
    void post(RepeatedWork::When when) {
        writing_.post([file = file_, load = load_] { return write_entry(file->path, file->contact, load); },
                      when);
    }

    const SharedFile file_;
    Workload load_;
    RepeatedWork writing_;
};

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
                                                       const frames::Contact& contact,
                                                       std::function<void(const std::string&)> say,
                                                       Duration every) {
    if (contact.name.empty() || std::any_of(contact.name.begin(), contact.name.end(),
                                            [](char c) { return static_cast<unsigned char>(c) < 32; }))
        return Error{ExitCode::usage,
                     "a manager's name needs at least one letter, and no control characters"};
    if (Status made = make_folder(folder); !made) return made.error();
    // If no worker ever looks, nobody else would remove old entries.
    go_through(folder, stale_entry, [](const Listing&) {});
    // Several managers of one process and name have different ports.
    const std::string path = folder + "/" + escaped(contact.name) + "-" + escaped(contact.host) + "-" +
                             std::to_string(contact.pid) + "-" + std::to_string(contact.port) + suffix;
    if (Status written = write_entry(path, contact, {}); !written)
        return Error{ExitCode::not_allowed, "the name cannot be registered: " + written.error().message +
                                                "; name another folder in WORK_QUEUE_REGISTRY"};
    return std::unique_ptr<Registration>(std::make_unique<Entry>(path, contact, std::move(say), every));
}

bool goes_first(const Workload& a, const Workload& b) {
    if ((a.waiting > 0) != (b.waiting > 0)) return a.waiting > 0;
    return a.priority > b.priority;
}

Status check_manager_pattern(const std::string& pattern) {
    const auto compiled = NamePattern::of(pattern);
    if (!compiled) return compiled.error();
    return success();
}

Result<std::vector<Listing>> find_managers(const std::string& folder, const std::string& pattern,
                                           std::uint64_t seed, Duration stale) {
    const auto wanted = NamePattern::of(pattern);
    if (!wanted) return wanted.error();
    std::vector<Listing> managers;
    std::error_code failed;
    if (!fs::exists(folder, failed)) return managers;
    if (const Status safe = check_folder(folder); !safe) return safe.error();
    go_through(folder, stale, [&](Listing listing) {
        if (wanted->matches(listing.contact.name)) managers.push_back(std::move(listing));
    });
    std::shuffle(managers.begin(), managers.end(), std::mt19937_64(seed));
    std::stable_sort(managers.begin(), managers.end(),
                     [](const Listing& a, const Listing& b) { return goes_first(a.load, b.load); });
    return managers;
}

namespace {

std::string note_of_this_host() {
    return escaped(records::journal::host_name()) + "-";
}

// "HOST-PID-TIME.run"
bool is_of_gone_process(const std::string& name) {
    const std::string host = note_of_this_host();
    if (!name.starts_with(host)) return false;
    const auto pid =
        parse_count(name.substr(host.size(), name.find('-', host.size()) - host.size()), 1, INT_MAX);
    return pid && records::journal::is_gone(records::journal::host_name(), *pid);
}

// `ending`: of the file's name.
std::string note_path(const std::string& folder, const std::string& ending) {
    return folder + "/" + note_of_this_host() + std::to_string(::getpid()) + "-" +
           std::to_string(wall_now()) + ending;
}

Status write_note(const std::string& folder, const std::string& path, const std::string& text) {
    const Status made = make_folder(folder);
    return made ? write_file(path, text) : made;
}

// The end waits only briefly, whatever the file system does.
RepeatedWorkOptions note_options(const std::string& path) {
    RepeatedWorkOptions options;
    options.last = [path] { ::unlink(path.c_str()); };
    options.timeout = std::chrono::milliseconds(500);
    return options;
}

std::unique_ptr<RepeatedWork> keep_note(const std::string& folder, const std::string& text,
                                        const std::string& ending) {
    const std::string path = note_path(folder, ending);
    auto writing = std::make_unique<RepeatedWork>(note_options(path));
    writing->post([folder, path, text] { return write_note(folder, path, text); },
                  RepeatedWork::When::at_once);
    return writing;
}

RepeatedWorkOptions factory_note_options(const std::string& path) {
    RepeatedWorkOptions options = note_options(path);
    options.every = std::chrono::seconds(10);
    return options;
}

// Each note of a kind; those for which `take` returns true are removed.
void go_through_notes(const std::string& folder, const char* suffix_of_kind,
                      const std::function<bool(const fs::path& file, const std::string& text)>& take) {
    std::error_code failed;
    if (!check_folder(folder)) return;
    for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed)) {
        if (file->path().extension() != suffix_of_kind) continue;
        const auto text = read_trusted(file->path());
        if (text && take(file->path(), *text)) ::unlink(file->path().c_str());
    }
}

}  // namespace

std::unique_ptr<RepeatedWork> note_run(const std::string& folder, const std::string& run_directory) {
    return keep_note(folder, run_directory, suffix_of_runs);
}

std::unique_ptr<RepeatedWork> note_manager(const std::string& folder, const frames::Contact& contact) {
    // Threads may begin managers at the same time.
    return keep_note(folder, frames::to_json(contact),
                     "-" + std::to_string(contact.port) + suffix_of_unnamed);
}

void look_at_noted_runs(const std::string& folder,
                        const std::function<RunSeen(const std::string& run_directory)>& look) {
    go_through_notes(folder, suffix_of_runs, [&](const fs::path& file, const std::string& run) {
        const RunSeen seen = look(run);
        return seen == RunSeen::ended || (seen == RunSeen::unknown && is_of_gone_process(file.filename()));
    });
}

std::vector<Listing> noted_managers(const std::string& folder) {
    std::vector<Listing> managers;
    const timespec now = now_in(folder);
    go_through_notes(folder, suffix_of_unnamed, [&](const fs::path& file, const std::string& text) {
        auto contact = frames::parse_contact(text);
        if (!contact) return false;
        if (is_gone(*contact)) return true;
        managers.push_back({std::move(*contact), {}, age_of(file, now), file});
        return false;
    });
    return managers;
}

void forget_manager(const Listing& manager) {
    constexpr Duration kept = std::chrono::hours(24);
    if (manager.age >= kept) ::unlink(manager.path.c_str());
}

FactoryEntry::FactoryEntry(const std::string& folder)
    : folder_(folder), path_(note_path(folder, suffix_of_factories)), writing_(factory_note_options(path_)) {}

void FactoryEntry::publish_record(std::string record) {
    writing_.post(
        [folder = folder_, path = path_, text = std::move(record)] { return write_note(folder, path, text); },
        RepeatedWork::When::at_once);
}

std::vector<FactoryListing> find_factories(const std::string& folder) {
    std::vector<FactoryListing> factories;
    const timespec now = now_in(folder);
    go_through_notes(folder, suffix_of_factories, [&](const fs::path& file, const std::string& record) {
        const Duration age = age_of(file, now);
        if (age > stale_entry || is_of_gone_process(file.filename())) return true;
        factories.push_back({record, age});
        return false;
    });
    return factories;
}

}  // namespace wq::net::contact
