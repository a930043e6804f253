// Frames of an unauthenticated peer at both ends of a handshake with a key: whatever they are, nobody is
// authenticated, the answers fit into a frame, and reasons have one line. Honest ends with the same nonces
// then succeed, and fail if any bit of their exchange is changed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/frames/contact.h"
#include "net/frames/handshake.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using namespace wq::net::frames;

Nonce nonce(char fill) {
    Nonce made;
    made.fill(fill);
    return made;
}

// A length byte and that many bytes; missing ones are omitted. Length 255 means the rest.
std::string_view next_frame(std::string_view& rest) {
    if (rest.empty()) return {};
    const auto length = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    const std::string_view frame = length == 255 ? rest : rest.substr(0, length);
    rest.remove_prefix(frame.size());
    return frame;
}

void stranger(Role role, std::string_view talk) {
    Handshake handshake(role, "a key that strangers lack", "binding", nonce('n'));
    while (handshake.going() && !talk.empty()) {
        const std::string_view frame = next_frame(talk);
        require(handshake.on_frame(frame).size() <= kMostHandshakeFrame, "an answer fits into a frame");
    }
    require(!handshake.done(), "no stranger gets in");
    if (!handshake.going())
        require(!handshake.failure().message.empty() &&
                    handshake.failure().message.find('\n') == std::string::npos,
                "a reason is one line");
}

// The first bytes select the frame to change and the position.
void honest(std::string_view change) {
    Handshake manager(Role::manager, "key", {}, nonce('m'));
    Handshake worker(Role::worker, "key", {}, nonce('w'));
    const std::size_t which = change.size() < 3 ? 3 : static_cast<unsigned char>(change[0]) % 4;
    const auto pass = [&](std::size_t index, std::string frame) {
        if (index != which || frame.empty()) return frame;
        const std::size_t bit =
            static_cast<unsigned char>(change[1]) * 8u + static_cast<unsigned char>(change[2]) % 8;
        char& byte = frame[bit / 8 % frame.size()];
        byte = static_cast<char>(byte ^ (1 << bit % 8));
        return frame;
    };
    std::string proof = worker.on_frame(pass(0, manager.hello()));
    manager.on_frame(pass(1, worker.hello()));
    if (manager.going()) proof = manager.on_frame(pass(2, proof));
    require(manager.done() == (which == 3), "the manager lets in whom it should");
    if (which == 3) worker.on_frame(proof);
    if (which == 3) require(worker.done(), "honest ends find each other");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    stranger(Role::manager, bytes);
    stranger(Role::worker, bytes);
    honest(bytes);
    if (const auto contact = parse_contact(std::string(bytes)); contact.ok())
        require(parse_contact(to_json(*contact)).ok(), "a contact that was read is read again");
    return 0;
}
