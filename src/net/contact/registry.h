// Managers by name, without a server: a folder in which every named manager keeps an entry. Workers and
// managers that see the same folder find each other, so on a cluster it is on a shared file system.
//
// An entry is a JSON file of mode 0600 with the manager's contact and workload. The manager rewrites it every
// 10 s, and at once when tasks start or stop waiting. An entry that was not written for 2 minutes belongs to
// a manager that is gone or unreachable; whoever looks next removes it. Ages use only the file system's
// clock: clocks of hosts differ.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/contact/repeated_work.h"
#include "net/frames/contact.h"

namespace wq::net::contact {

inline constexpr Duration stale_entry = std::chrono::minutes(2);

// $WORK_QUEUE_REGISTRY, else $XDG_STATE_HOME/work_queue/managers, else ~/.local/state/work_queue/managers.
std::string registry_folder();

struct Workload {
    std::uint64_t waiting = 0;  // tasks
    std::uint64_t workers = 0;  // connected
    std::int64_t priority = 0;  // of the manager
    bool operator==(const Workload&) const = default;
};

struct Listing {
    frames::Contact contact;
    Workload load;
    Duration age{};      // since the entry was written
    std::string path{};  // of the entry
};

// A manager's entry, removed with this object.
class Registration {
  public:
    virtual ~Registration() = default;                    // removes the entry
    virtual void publish_load(const Workload& load) = 0;  // never blocks
};

// Creates the folder (mode 0700) if missing, and the entry: it exists on return, so that workers can start
// next, and an unusable folder is the caller's error. (So only this call can block on a file system that
// hangs.) `say` gets a line from publish_load() the first time that the entry cannot be rewritten, and one if
// the file system does not answer at the end. Errors: not_allowed: it is not writable, belongs to another
// user, or others may write there; usage: contact.name is empty or has a byte below 32.
Result<std::unique_ptr<Registration>> register_manager(const std::string& folder,
                                                       const frames::Contact& contact,
                                                       std::function<void(const std::string&)> say = {},
                                                       Duration every = std::chrono::seconds(10));

// Whether workers should look at `a` first: it has waiting tasks, or else a higher priority.
bool goes_first(const Workload& a, const Workload& b);

// Error usage: no POSIX extended regular expression.
Status check_manager_pattern(const std::string& pattern);

// Current managers whose whole name matches `pattern` (a POSIX extended regular expression): those with
// waiting tasks first, by priority, among equals in random order by `seed`. No folder: none. Skips truncated
// entries and those that others may have written; removes those of processes that are gone. Errors: usage: no
// regular expression; not_allowed: the folder is another user's, or others may write in it.
Result<std::vector<Listing>> find_managers(const std::string& folder, const std::string& pattern,
                                           std::uint64_t seed, Duration stale = stale_entry);

// Runs and managers without a name, which no worker looks for, are noted for those who look at all of the
// user's. A note is written once, on another thread, and removed with the object; if that fails, nothing is
// said. `run_directory`: a whole path.
std::unique_ptr<RepeatedWork> note_run(const std::string& folder, const std::string& run_directory);
std::unique_ptr<RepeatedWork> note_manager(const std::string& folder, const frames::Contact& contact);

// Calls `look` with the directory of each of these runs. Removes the notes of those that have ended, and of
// processes of this host that are gone; a directory that cannot be seen here stays.
enum class RunSeen : std::uint8_t { lives, ended, unknown };
void look_at_noted_runs(const std::string& folder,
                        const std::function<RunSeen(const std::string& run_directory)>& look);
// These managers. Removes the notes of processes of this host that are gone.
std::vector<Listing> noted_managers(const std::string& folder);
// Removes the note of one of them if it is older than a day. Call it if nobody listens at its port.
void forget_manager(const Listing& manager);

// A factory's entry for those who look: its record, rewritten every 10 s, and at once with a new one. All is
// done on another thread, and if it fails, nothing is said.
class FactoryEntry {
  public:
    explicit FactoryEntry(const std::string& folder);
    void publish_record(std::string record);

  private:
    const std::string folder_;
    const std::string path_;
    RepeatedWork writing_;
};
struct FactoryListing {
    std::string record;
    Duration age{};  // since it was written
};
// Removes those of processes of this host that are gone, and those that were not written for 2 minutes.
std::vector<FactoryListing> find_factories(const std::string& folder);

}  // namespace wq::net::contact
