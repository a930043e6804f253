#include "shared_list/store/list_place.h"

#include "base/units.h"

namespace wq::shared_list::store {

namespace {

// Where the ':' stands that ends the host; npos: the word names none.
std::size_t end_of_host(const std::string& word) {
    std::size_t from = 0;
    if (const std::size_t bracket = word.find('['); bracket != std::string::npos && bracket < word.find(':'))
        from = word.find(']');
    const std::size_t colon = word.find(':', from == std::string::npos ? 0 : from);
    return colon < word.find('/') ? colon : std::string::npos;
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

}  // namespace wq::shared_list::store
