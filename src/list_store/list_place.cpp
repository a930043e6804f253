#include "list_store/list_place.h"

#include "base/units.h"
#include "list_store/local_store.h"
#include "list_store/ssh_store.h"

namespace wq::list_store {

namespace {

// Where the ':' stands that ends the host; npos: the word names none.
std::size_t end_of_host(const std::string& word) {
    std::size_t from = 0;
    if (const std::size_t bracket = word.find('['); bracket != std::string::npos && bracket < word.find(':'))
        from = word.find(']');
    const std::size_t colon = word.find(':', from == std::string::npos ? 0 : from);
    return colon < word.find('/') ? colon : std::string::npos;
}

// "user@[::1]" as ssh takes it: it knows no brackets.
std::string without_brackets(std::string host) {
    const std::size_t open = host.find('[');
    if (open == std::string::npos || !host.ends_with(']')) return host;
    host.pop_back();
    return host.erase(open, 1);
}

}  // namespace

Result<ListPlace> list_place(const std::string& word, const std::string& host) {
    const std::size_t colon = end_of_host(word);
    ListPlace place{host, word};
    if (colon != std::string::npos) place = {word.substr(0, colon), word.substr(colon + 1)};
    if (place.file.empty())
        return Error{ExitCode::usage, quote_for_message(word) + " names no file; write HOST:FILE"};
    if (colon == 0)
        return Error{ExitCode::usage, quote_for_message(word) + " names no host; write HOST:FILE, or ./FILE"};
    if (place.host.starts_with('-'))
        return Error{ExitCode::usage, quote_for_message(place.host) + " is no host; write USER@HOST"};
    return place;
}

std::string name_of(const ListPlace& place) {
    return place.host.empty() ? place.file : place.host + ":" + place.file;
}

std::unique_ptr<ListStore> store_at(const ListPlace& place, std::function<void(const std::string&)> say) {
    if (place.host.empty()) return std::make_unique<LocalStore>(place.file, std::move(say));
    return std::make_unique<SshStore>(without_brackets(place.host), place.file, std::move(say));
}

}  // namespace wq::list_store
