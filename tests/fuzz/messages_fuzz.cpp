// Any frame is read as messages or rejected; a message that was read is the same after writing and reading it
// again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/messages/messages.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using wq::fuzz::require;
    const auto messages =
        wq::net::messages::decode(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!messages) return 0;
    require(messages->size() <= size, "a message has bytes of its own");
    wq::ByteWriter written;
    for (const wq::net::messages::Message& message : *messages) wq::net::messages::encode(message, written);
    const auto copy = wq::net::messages::decode(written.bytes());
    require(copy && copy->size() == messages->size(), "what was written reads");
    wq::ByteWriter again;
    for (const wq::net::messages::Message& message : *copy) wq::net::messages::encode(message, again);
    require(again.bytes() == written.bytes(), "it reads the same");
    return 0;
}
