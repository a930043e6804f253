// Any frame is read as messages or refused; a message that was read reads the same from what is written of
// it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using wq::fuzz::require;
    wq::ByteReader in(std::string_view(reinterpret_cast<const char*>(data), size));
    while (!in.rest().empty()) {
        const std::size_t before = in.rest().size();
        const auto message = wq::wire::decode(in);
        require(message.has_value() == in.ok(), "a message comes of a good frame only");
        if (!message) break;
        require(in.rest().size() < before, "a reader goes forward");
        const std::string written = wq::wire::encode(*message);
        wq::ByteReader again(written);
        const auto copy = wq::wire::decode(again);
        require(copy && again.at_end(), "what was written reads");
        require(copy->index() == message->index() && wq::wire::encode(*copy) == written, "it reads the same");
    }
    return 0;
}
