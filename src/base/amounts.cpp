#include "base/amounts.h"

#include "base/units.h"

namespace wq {

Result<std::int64_t> parse_amount_mb(std::string_view text) {
    const auto bytes = parse_size(text);
    if (!bytes) return bytes;
    const std::int64_t size = *bytes / bytes_per_mb + (*bytes % bytes_per_mb != 0 ? 1 : 0);
    if (size > most_mb) return Error{ExitCode::usage, quote_for_message(text) + " is more than 1 EiB"};
    return size;
}

}  // namespace wq
