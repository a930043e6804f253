#include "functions/pool/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/process/passed_descriptors.h"

namespace wq::functions::pool {

bool socket_pair(Descriptor (&ends)[2]) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
    ends[0].reset(pair[0]);
    ends[1].reset(pair[1]);
    return true;
}

Status check_block_count(const Blocks& blocks) {
    constexpr std::size_t most = node::process::most_at_once - 1;  // and one that has the message itself
    if (blocks.size() <= most) return success();
    return Error{ExitCode::bad_input, "a batch has " + std::to_string(blocks.size()) +
                                          " arrays in shared memory, and may have " + std::to_string(most)};
}

Result<std::shared_ptr<Block>> spill(std::string_view payload) {
    auto block = Block::make(payload.size());
    if (block) std::memcpy((*block)->data(), payload.data(), payload.size());
    return block;
}

Result<Sent> send_blocks(int socket, const Blocks& blocks, const Block* first) {
    std::vector<int> files;
    if (first != nullptr) files.push_back(first->descriptor());
    for (const std::shared_ptr<Block>& block : blocks) files.push_back(block->descriptor());
    const char mark = '+';
    if (node::process::send_descriptors(socket, node::process::bytes_of_value(mark), files, MSG_DONTWAIT))
        return Sent::yes;
    // To a dead worker: what it was to get is sent to the next one.
    if (errno == EPIPE || errno == ECONNRESET) return Sent::yes;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) return Sent::no_room;
    return Error{ExitCode::unreachable, std::string("cannot pass shared memory on: ") + strerror(errno)};
}

Received receive_blocks(int socket, std::size_t count) {
    std::vector<Descriptor> files;
    char mark = 0;
    const std::span<std::byte> to = node::process::writable_bytes_of_value(mark);
    ssize_t got = node::process::receive_descriptors(socket, to, files, MSG_DONTWAIT);
    // Said once, before the messages that are there, if the other process died with messages unread.
    if (got < 0 && errno == ECONNRESET)
        got = node::process::receive_descriptors(socket, to, files, MSG_DONTWAIT);
    if (got <= 0 || files.size() != count) {
        if (got < 0 && errno == EMFILE)
            return {{},
                    "no descriptors were left for the arrays of the batch: raise `ulimit -n`, or hold fewer"};
        return {{}, "the arrays of the batch did not come"};
    }
    Received received;
    for (Descriptor& file : files) {
        auto block = Block::map(std::move(file));
        if (!block) {
            for (std::shared_ptr<Block>& mapped : received.blocks) Block::drop_user(std::move(mapped));
            return {{}, block.error().message};
        }
        received.blocks.push_back(std::move(*block));
    }
    return received;
}

std::string take_spilled(Blocks& blocks, std::uint64_t bytes) {
    std::shared_ptr<Block> first = std::move(blocks.front());
    blocks.erase(blocks.begin());
    std::string payload(reinterpret_cast<const char*>(first->data()),
                        std::min<std::size_t>(bytes, first->capacity()));
    Block::drop_user(std::move(first));
    return payload;
}

}  // namespace wq::functions::pool
