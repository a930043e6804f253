// Any frame is read as messages or rejected; a message that was read is the same after writing and reading it
// again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "net/messages/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using wq::fuzz::require;
    const auto messages = wq::wire::decode(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!messages) return 0;
    require(messages->size() <= size, "a message has bytes of its own");
    wq::ByteWriter written;
    for (const wq::wire::Message& message : *messages) wq::wire::encode(message, written);
    const auto copy = wq::wire::decode(written.bytes());
    require(copy && copy->size() == messages->size(), "what was written reads");
    wq::ByteWriter again;
    for (const wq::wire::Message& message : *copy) wq::wire::encode(message, again);
    require(again.bytes() == written.bytes(), "it reads the same");
    return 0;
}
