// One exchange with a list on this machine, by one who holds its lock.
#pragma once

#include <optional>

#include "base/result.h"
#include "shared_list/store/edit_log.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::store {

struct Exchanged {
    Answer answer;
    // To be synced once the lock is released, so that the syncs of several workers overlap.
    std::optional<EditLog> unsynced;
};

Result<Exchanged> exchange_locked(const Paths& paths, const Request& request);

// See ListStore::ask_for_turn().
Status ask_for_turn_locked(const Paths& paths, const std::string& name);

// Whether a list of this identity need not be sent, see Request::follows_log.
bool log_has_file(const std::string& log, const std::string& identity);

}  // namespace wq::shared_list::store
