#include "shared_list/ssh/store_at.h"

#include <utility>

#include "shared_list/ssh/ssh_store.h"
#include "shared_list/store/local_store.h"

namespace wq::shared_list::ssh {

namespace {

// "user@[::1]" as ssh takes it: it knows no brackets.
std::string without_brackets(std::string host) {
    const std::size_t open = host.find('[');
    if (open == std::string::npos || !host.ends_with(']')) return host;
    host.pop_back();
    return host.erase(open, 1);
}

}  // namespace

std::unique_ptr<store::ListStore> store_at(const store::ListPlace& place,
                                           std::function<void(const std::string&)> say) {
    if (place.host.empty()) return std::make_unique<store::LocalStore>(place.file, std::move(say));
    return std::make_unique<SshStore>(without_brackets(place.host), place.file, std::move(say));
}

}  // namespace wq::shared_list::ssh
