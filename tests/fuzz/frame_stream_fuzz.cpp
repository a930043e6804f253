// A peer's byte stream, split according to the first byte: however it is split, the frames are the same, none
// exceeds the limit, and memory follows the received bytes. As plain text, it asks for the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/frames/frame_stream.h"
#include "net/frames/http_request.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using wq::net::frames::FrameSplitter;

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
    if (found.too_long) wq::net::frames::guess_protocol(splitter.head());
    return found;
}

// What a manager's port makes of it, once it knows.
wq::net::frames::PlainRequest asked(std::string_view stream, std::size_t piece) {
    using Is = wq::net::frames::PlainRequest::Is;
    wq::net::frames::PlainRequest request;
    for (std::size_t at = 0; request.is == Is::unfinished && at < stream.size(); at += piece)
        request = wq::net::frames::plain_request(stream.substr(0, at + piece));
    if (request.is == Is::unfinished)
        require(stream.size() < wq::net::frames::most_plain_bytes, "no request is too long");
    if (request.is == Is::wrong) require(request.answer.starts_with("HTTP/1.1 4"), "a wrong one is answered");
    if (request.is == Is::question)
        require(request.question == "/" || request.question.ends_with("_status"),
                "a question is a known one");
    return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
    const Read whole = read(stream, stream.size() + 1);
    const Read cut = read(stream, 1 + data[0]);
    require(whole.frames == cut.frames && whole.too_long == cut.too_long, "cuts change nothing");
    const auto at_once = asked(stream, stream.size() + 1);
    const auto in_pieces = asked(stream, 1 + data[0]);
    require(at_once.is == in_pieces.is && at_once.question == in_pieces.question, "cuts ask for the same");
    return 0;
}
