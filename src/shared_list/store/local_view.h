// A list on this machine as one sees it who only looks: without its lock, and without making anything.
#pragma once

#include "base/result.h"
#include "shared_list/store/list_store.h"
#include "shared_list/store/paths.h"

namespace wq::shared_list::store {

// Error: there is no list, or it cannot be read.
Status find_list(const Paths& paths, const std::string& name);
// See ListStore::read().
Result<Answer> view_list(const Paths& paths);

}  // namespace wq::shared_list::store
