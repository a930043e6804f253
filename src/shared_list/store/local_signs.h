// Signs of life as files: FILE.runtask/alive/K has the lease in seconds, and was touched when the worker
// last gave a sign.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::store {

Status write_sign(const std::string& folder, text::WorkerId worker, Duration lease);
Status remove_sign(const std::string& folder, text::WorkerId worker);
// `may_write`: ages are by the clock of the file system, which only a file that is written tells; else by
// this machine's.
Result<std::vector<Sign>> read_signs(const std::string& folder, bool may_write);

// How often the signs of workers with these leases are written again by one who is busy otherwise.
std::chrono::seconds between_signs(const std::map<text::WorkerId, Duration>& leases);

// The text of a sign, always equally long so that it is written over and never empty; and back.
std::string text_of_lease(Duration lease);
Duration lease_of_text(const std::string& text);

}  // namespace wq::shared_list::store
