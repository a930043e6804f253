#include "shared_list/store/list_place.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

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

namespace {

constexpr int most_links = 40;  // as many as Linux follows

std::optional<std::string> home_of(const std::string& user) {
    const char* const told = std::getenv("HOME");
    if (user.empty() && told != nullptr && *told != '\0') return told;
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> text(16384);
    if (user.empty())
        ::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found);
    else
        ::getpwnam_r(user.c_str(), &entry, text.data(), text.size(), &found);
    if (found == nullptr) return std::nullopt;
    return entry.pw_dir;
}

Result<std::string> without_tilde(const std::string& name) {
    if (name.empty() || name[0] != '~') return name;
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::string user = name.substr(1, slash - 1);
    const auto home = home_of(user);
    if (home) return *home + name.substr(slash);
    return Error{ExitCode::bad_input, "no user " + quote_for_message(user) + " for the list " +
                                          quote_for_message(name) + "; write ./" + line_for_message(name) +
                                          " if the name begins with '~'"};
}

// Of the last name only: the folders above are the same by whatever way they are reached.
std::string behind_links(std::string path) {
    for (int i = 0; i < most_links; ++i) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(path, error);
        if (error) break;
        path = (std::filesystem::path(path).parent_path() / target).string();
    }
    return path;
}

}  // namespace

Result<Paths> paths_of(const std::string& name) {
    auto expanded = without_tilde(name);
    if (!expanded) return expanded.error();
    std::error_code error;
    const auto absolute = std::filesystem::absolute(*expanded, error);
    const std::filesystem::path file = behind_links(absolute.string());
    if (error || file.filename().empty() || std::filesystem::is_directory(file, error))
        return Error{ExitCode::bad_input,
                     line_for_message(name) + " is a directory; name a file, the list of tasks"};
    Paths paths;
    paths.file = file.string();
    paths.directory = file.parent_path().string();
    paths.lock = paths.file + ".lock";
    paths.folder = paths.file + ".runtask";
    paths.edits = paths.folder + "/edits";
    paths.previous_edits = paths.edits + ".1";
    paths.alive = paths.folder + "/alive";
    paths.old = paths.folder + "/old";
    paths.fresh = paths.folder + "/new";
    paths.in_place = paths.folder + "/in_place";
    return paths;
}

}  // namespace wq::shared_list::store
