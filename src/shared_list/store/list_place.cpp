#include "shared_list/store/list_place.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/random_bits.h"
#include "base/units.h"

namespace wq::shared_list::store {

std::string identity_of(const struct stat& file) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "%llu %lld %lld.%09ld",
                  static_cast<unsigned long long>(file.st_ino), static_cast<long long>(file.st_size),
                  static_cast<long long>(file.st_mtim.tv_sec), static_cast<long>(file.st_mtim.tv_nsec));
    return text.data();
}

std::optional<struct stat> stat_of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return found;
}

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

std::string random_word() {
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64, random_bits());
    return text.data();
}

}  // namespace wq::shared_list::store
