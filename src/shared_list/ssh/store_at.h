// The store of a list, here or on a master.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "shared_list/store/list_place.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::ssh {

// It is not opened yet. `say`: see SharedList.
std::unique_ptr<store::ListStore> store_at(const store::ListPlace& place,
                                           std::function<void(const std::string&)> say);

}  // namespace wq::shared_list::ssh
