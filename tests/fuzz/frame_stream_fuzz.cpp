// A peer's byte stream, split according to the first byte: however it is split, the frames are the same, none
// exceeds the limit, and memory follows the received bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/frame_stream.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using wq::net::FrameSplitter;

constexpr std::size_t most_bytes = 1000;

struct Read {
    std::vector<std::string> frames;
    bool too_long = false;
};

Read read(std::string_view stream, std::size_t piece) {
    Read found;
    FrameSplitter splitter(most_bytes);
    for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) {
        std::string_view bytes = stream.substr(0, piece);
        while (auto frame = splitter.take(bytes)) {
            require(!frame->empty() && frame->size() <= most_bytes, "a frame is within its bounds");
            found.frames.push_back(std::move(*frame));
        }
        require(bytes.empty() || splitter.too_long(), "all bytes are taken, or none any more");
        require(splitter.held() <= 2 * most_bytes, "memory stays bounded");
    }
    found.too_long = splitter.too_long();
    if (found.too_long) wq::net::guess_protocol(splitter.head());
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
    const Read whole = read(stream, stream.size() + 1);
    const Read cut = read(stream, 1 + data[0]);
    require(whole.frames == cut.frames && whole.too_long == cut.too_long, "cuts change nothing");
    return 0;
}
