// The command line of work_queue_status.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "factory/found_managers.h"
#include "net/catalog/jx.h"
#include "net/messages/messages.h"

namespace wq::programs::status {

struct StatusOptions {
    enum class Mode { queues, workers, tasks, categories, resources, capacity, factories };
    Mode mode = Mode::queues;
    bool has_mode = false;
    bool json = false;
    bool watch = false;  // `run` on a full screen
    // Where the managers are: HOST PORT; a contact file; a run; else `name`, or all managers of the user.
    wq::factory::ManagerPlace place;
    std::string perhaps_name;                         // the one word that was given as HOST; else empty
    std::string run;                                  // a run directory, a list, or a contact file
    std::string name;                                 // a regular expression for whole names; empty: all
    std::optional<net::catalog::JxExpression> where;  // only records for which it is true
    std::optional<Duration> every;
    bool help = false;
    bool version = false;

    net::messages::StatusOf listing() const;
    bool shows_all() const {  // of the user
        return place.managers.empty() && place.contact.empty() && run.empty() && name.empty();
    }
    bool needs_manager() const {
        return mode == Mode::workers || mode == Mode::tasks || mode == Mode::categories;
    }
    // Whether managers are looked for, and not said.
    bool by_name() const { return place.managers.empty() && place.contact.empty(); }
    bool shows(const Json& record) const { return !where || where->matches(record); }
};

// Error usage.
Result<StatusOptions> parse_status_options(int argc, const char* const* argv);
std::string status_help();

}  // namespace wq::programs::status
