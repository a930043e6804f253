#include "shared_list/replica/loose_end.h"

#include <charconv>

namespace wq::shared_list::replica {

namespace {

constexpr Duration quiet = std::chrono::seconds(2);  // as seen here
// As the master tells it: its clock may differ from that of a file server.
constexpr Duration old_enough = std::chrono::seconds(5);

}  // namespace

void LooseEnd::read(const std::string& identity, std::string_view list, std::optional<Duration> age,
                    Instant now) {
    if (list.empty() || list.ends_with('\n')) return whole_at_.reset();
    if (whole_at_ && identity == identity_) return;
    identity_ = identity;
    whole_at_ = age && *age >= old_enough ? now : now + quiet;
}

std::string_view whole_lines(std::string_view list) {
    return list.substr(0, list.rfind('\n') + 1);  // npos + 1 is 0
}

std::optional<WallMicros> changed_at(const std::string& identity) {
    const std::size_t blank = identity.rfind(' ');
    if (blank == std::string::npos || identity.find(' ') == blank) return std::nullopt;
    WallMicros seconds = 0;
    const char* const begin = identity.data() + blank + 1;
    const auto [end, error] = std::from_chars(begin, identity.data() + identity.size(), seconds);
    if (error != std::errc{} || *end != '.') return std::nullopt;
    return seconds * micros_per_second;
}

Error is_being_written(const std::string& name) {
    return {ExitCode::bad_input, name +
                                     ": somebody may be writing the last line, which has no line end; "
                                     "end it with a newline, or try again in some seconds"};
}

}  // namespace wq::shared_list::replica
