// Sends and receives the messages of page.h: their descriptors by a socket, then the message by a ring.
#pragma once

#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/pool/page.h"
#include "functions/pool/storage.h"
#include "work_queue/batch.h"

namespace wq::functions::pool {

// A batch as bytes and blocks: small arrays are among the bytes, large ones are blocks.

using Blocks = std::vector<std::shared_ptr<Block>>;

// Appends to both. A block is there once, however many arrays are in it. Throws BatchError: no memory.
void encode(Batch& batch, std::string& bytes, Blocks& blocks);

// `blocks`: each with a user that the batch takes over. Error: bytes that no encode() has written.
Result<Batch> decode(std::string_view bytes, Blocks blocks);

// The socket that goes with a page. It keeps messages apart: one for each message with blocks.
bool socket_pair(Descriptor (&ends)[2]);

enum class Sent : std::uint8_t { yes, no_room };

// The steps that are the same for both heads.
Status check_block_count(const Blocks& blocks);
Result<std::shared_ptr<Block>> spill(std::string_view payload);
Result<Sent> send_blocks(int socket, const Blocks& blocks, const Block* first);
struct Received {
    Blocks blocks;
    std::string problem;  // why there are none; empty: they are all there
};
Received receive_blocks(int socket, std::size_t count);
std::string take_spilled(Blocks& blocks, std::uint64_t bytes);

// The ring has room for a message. The blocks' users are the receiver's then. `before_push` is called when
// nothing can fail any more, and before the receiver can see the message. Error: no memory, or too many
// blocks.
template <class Head, class BeforePush>
Result<Sent> send_message(RingWriter& ring, int socket, Head head, std::string_view payload,
                          const Blocks& blocks, BeforePush&& before_push) {
    std::shared_ptr<Block> spilled;
    if (!ring.fits(sizeof head + payload.size())) {
        auto block = spill(payload);
        if (!block) return block.error();
        spilled = std::move(*block);
        head.spilled = payload.size();
        payload = {};
    }
    head.blocks = static_cast<std::uint32_t>(blocks.size() + (spilled ? 1 : 0));
    if (head.blocks > 0) {
        if (Status allowed = check_block_count(blocks); !allowed) return allowed.error();
        const auto sent = send_blocks(socket, blocks, spilled.get());
        if (!sent || *sent != Sent::yes) return sent;
    }
    before_push();
    ring.push({reinterpret_cast<const char*>(&head), sizeof head}, payload);
    return Sent::yes;
}

template <class Head>
Result<Sent> send_message(RingWriter& ring, int socket, const Head& head, std::string_view payload,
                          const Blocks& blocks) {
    return send_message(ring, socket, head, payload, blocks, [] {});
}

template <class Head>
struct Incoming {
    Head head;
    std::string bytes;
    std::size_t start = sizeof(Head);
    Blocks blocks;
    std::string problem;  // the blocks did not come
    std::string_view payload() const { return std::string_view(bytes).substr(start); }
};

// The ring is not empty. The message stays in the ring until ring.taken(). nullopt: it is damaged.
template <class Head>
std::optional<Incoming<Head>> receive_message(RingReader& ring, int socket) {
    auto bytes = ring.read();
    if (!bytes || bytes->size() < sizeof(Head)) return std::nullopt;
    Incoming<Head> message;
    message.bytes = std::move(*bytes);
    std::memcpy(&message.head, message.bytes.data(), sizeof(Head));
    if (message.head.blocks == 0) return message;
    Received received = receive_blocks(socket, message.head.blocks);
    message.blocks = std::move(received.blocks);
    message.problem = std::move(received.problem);
    if (message.head.spilled > 0 && message.problem.empty()) {
        message.bytes = take_spilled(message.blocks, message.head.spilled);
        message.start = 0;
    }
    return message;
}

}  // namespace wq::functions::pool
