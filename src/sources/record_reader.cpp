#include "sources/record_reader.h"

#include <array>
#include <charconv>

namespace wq::sources {

Result<std::size_t> RecordReader::read_up_to(std::size_t most, std::vector<Record>& out) {
    std::size_t count = 0;
    for (; count < most; ++count) {
        if (count == out.size()) out.emplace_back();
        const auto found = next(out[count]);
        if (found && *found) continue;
        out.resize(count);
        if (!found) return found.error();
        return count;
    }
    out.resize(count);
    return count;
}

void RecordReader::set_key(std::string& key, const std::string& prefix, std::uint64_t number) {
    std::array<char, 20> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    key.assign(prefix).append(digits.data(), end);
}

}  // namespace wq::sources
