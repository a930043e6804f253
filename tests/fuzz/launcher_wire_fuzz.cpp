// Messages between rank and launcher: any bytes are a command, a report, or rejected; what was read is the
// same after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "node/launcher/launcher_wire.h"
#include "require.h"

namespace {

using wq::fuzz::require;

// `decode` of a message without its length, as MessageStream returns it.
template <class Decode>
void check(std::string_view bytes, Decode decode) {
    const auto value = decode(bytes);
    if (!value) return;
    std::string written;
    wq::node::launcher::append(written, *value);
    const auto copy = decode(std::string_view(written).substr(sizeof(std::uint32_t)));
    require(copy.has_value(), "what was written reads");
    std::string again;
    wq::node::launcher::append(again, *copy);
    require(again == written, "it reads the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(bytes, wq::node::launcher::decode_command);
    check(bytes, wq::node::launcher::decode_report);
    return 0;
}
