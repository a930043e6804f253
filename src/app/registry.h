// Managers by name, without a server: a folder in which every named manager keeps an entry. Workers and
// managers that see the same folder find each other, so on a cluster it lies on a shared file system.
//
// An entry is a JSON file of mode 0600 with the manager's contact and how much work it has. Its manager
// writes it anew every 10 s, and at once when work begins or ends to wait; so one that was not written for
// 2 minutes is of a manager that is gone or cannot be reached, and is removed by whoever looks next. The age
// is told by the file system's clock alone: clocks of hosts differ.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/contact.h"

namespace wq::app {

inline constexpr Duration stale_entry = std::chrono::minutes(2);

// $WORK_QUEUE_REGISTRY, else $XDG_STATE_HOME/work_queue/managers, else ~/.local/state/work_queue/managers.
std::string registry_folder();

struct Workload {
    std::uint64_t waiting = 0;  // tasks
    std::uint64_t workers = 0;  // connected
    bool operator==(const Workload&) const = default;
};

struct Listing {
    transport::Contact contact;
    Workload load;
};

// A manager's entry, for as long as this lives.
class Registration {
  public:
    virtual ~Registration() = default;            // removes the entry
    virtual void tell(const Workload& load) = 0;  // never blocks
};

// Makes the folder (mode 0700) where it is missing, and the entry: it is there on return, for workers that
// are started next, and a folder that is of no use is the caller's error. (So a file system that hangs is
// waited for here, and nowhere later.) `say`: a line where the folder's file system does not answer at the
// end. Errors: not_allowed when nothing can be written there, or it is another user's or others may write
// there; usage when contact.name is empty or has a byte below 32.
Result<std::unique_ptr<Registration>> register_manager(const std::string& folder,
                                                       const transport::Contact& contact,
                                                       std::function<void(const std::string&)> say = {},
                                                       Duration every = std::chrono::seconds(10));

// Error usage: no POSIX extended regular expression.
Status check_manager_pattern(const std::string& pattern);

// Living managers whose whole name matches `pattern` (a POSIX extended regular expression), those with tasks
// that wait first, in random order by `seed` among equals. No folder: none. Entries that are torn, or that
// others may have written, are passed over; those of processes that are gone are removed. Errors: usage: no
// regular expression; not_allowed: the folder is another user's, or others may write in
// it.
Result<std::vector<Listing>> find_managers(const std::string& folder, const std::string& pattern,
                                           std::uint64_t seed, Duration stale = stale_entry);

}  // namespace wq::app
