#include "shared_run/jump.h"

#include <array>
#include <utility>

#include "base/units.h"

namespace wq::shared_run {

namespace {

// Each variable with a NUL behind it, as no value has one.
constexpr const char* probe_command = R"(printf '%s\0' "$newtask" "$newid" "$jumpto" # )";

std::optional<std::array<std::string, 3>> variables_in(const std::string& output) {
    std::array<std::string, 3> values;
    std::size_t at = 0;
    for (std::string& value : values) {
        const std::size_t end = output.find('\0', at);
        if (end == std::string::npos) return std::nullopt;
        value = output.substr(at, end - at);
        at = end + 1;
    }
    return values;
}

}  // namespace

std::string probe_of(const std::string& line) {
    return probe_command + line;
}

Result<std::optional<Jump>> jump_in(const std::string& output, marked_list::WorkerId id,
                                    const list_store::ListPlace& place) {
    const auto values = variables_in(output);
    if (!values) return std::optional<Jump>();
    const auto& [newtask, newid, jumpto] = *values;
    const bool jumps = !jumpto.empty();
    if (!jumps && newtask.empty() && newid.empty()) return std::optional<Jump>();
    Jump jump{place, std::nullopt, !jumps && newtask.empty()};
    if (!jump.same_list) {
        auto next = list_store::list_place(jumps ? jumpto : newtask, place.host);
        if (!next) return next.error();
        jump.place = std::move(*next);
    }
    if (jumps) {
        jump.id = id;
    } else if (!newid.empty()) {
        const auto number = parse_count(newid, 0, std::int64_t{marked_list::no_worker} - 1);
        if (!number) return Error{number.error().code, "newid: " + number.error().message};
        jump.id = static_cast<marked_list::WorkerId>(*number);
    }
    return std::optional(std::move(jump));
}

}  // namespace wq::shared_run
