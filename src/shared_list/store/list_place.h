// The place of a shared list, which users write as "tasks.sh" or "user@host:tasks.sh".
#pragma once

#include <string>

#include "base/result.h"

namespace wq::shared_list::store {

struct ListPlace {
    std::string host;  // "user@host"; empty: this machine
    std::string file;
    bool operator==(const ListPlace&) const = default;
};

// The host ends at the first ':' before any '/'; that of an IPv6 address stands in brackets. `host`: of a
// word that names none. Error usage: an empty file or host, a host that ssh would take for an option.
Result<ListPlace> list_place(const std::string& word, const std::string& host);

std::string name_of(const ListPlace& place);

}  // namespace wq::shared_list::store
