#include "functions/pool/channel.h"

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "functions/pool/storage.h"
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

namespace {

constexpr std::uint8_t last_type = static_cast<std::uint8_t>(ElementType::complex128);

// Arrays from before this process was forked have no descriptors here.
void own_inherited(Batch& batch) {
    for (const auto& [name, value] : batch.entries()) {
        const Array* const array = std::get_if<Array>(&value);
        if (array != nullptr && array->is_shared() &&
            executor::ArrayAccess::storage(*array)->block()->inherited())
            batch.array(name).mutable_bytes();
    }
}

class Encoder {
  public:
    Encoder(std::string& bytes, Blocks& blocks) : bytes_(bytes), blocks_(blocks) {}

    void batch(const Batch& batch) {
        ByteWriter out;
        out.u64(batch.size());
        for (const auto& [name, value] : batch.entries()) {
            out.blob(name);
            out.u8(static_cast<std::uint8_t>(value.index()));
            std::visit([&](const auto& plain) { write(out, plain); }, value);
        }
        if (bytes_.empty())
            bytes_ = out.take();
        else
            bytes_ += out.bytes();
    }

  private:
    static void write(ByteWriter& out, std::int64_t value) { out.i64(value); }
    static void write(ByteWriter& out, double value) { out.f64(value); }
    static void write(ByteWriter& out, const std::string& value) { out.blob(value); }
    static void write(ByteWriter& out, const Batch::Bytes& value) {
        out.blob({reinterpret_cast<const char*>(value.data()), value.size()});
    }
    void write(ByteWriter& out, const Array& array) {
        out.u8(static_cast<std::uint8_t>(array.type()));
        out.u64(array.shape().size());
        for (const std::size_t length : array.shape()) out.u64(length);
        const std::span<const std::byte> bytes = array.bytes();
        if (!array.is_shared()) {
            out.u64(0);
            out.raw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
            return;
        }
        const std::shared_ptr<Block>& block = executor::ArrayAccess::storage(array)->block();
        const auto found = std::find(blocks_.begin(), blocks_.end(), block);
        out.u64(static_cast<std::uint64_t>(found - blocks_.begin()) + 1);
        if (found == blocks_.end()) blocks_.push_back(block);
    }

    std::string& bytes_;
    Blocks& blocks_;
};

class Decoder {
  public:
    Decoder(std::string_view bytes, Blocks blocks) : in_(bytes) {
        for (std::shared_ptr<Block>& block : blocks)
            storages_.push_back(std::make_shared<executor::Storage>(std::move(block)));
    }

    Result<Batch> batch() {
        Batch batch;
        for (std::uint64_t left = in_.count(2); left > 0 && in_.ok(); --left) {
            const std::string_view name = in_.blob();
            read(batch, name, in_.u8());
        }
        if (!in_.at_end()) return Error{ExitCode::internal, "a batch came damaged from another process"};
        return batch;
    }

  private:
    void read(Batch& batch, std::string_view name, std::uint8_t kind) {
        switch (kind) {
            case 0:
                return batch.set(name, in_.i64());
            case 1:
                return batch.set(name, in_.f64());
            case 2:
                return batch.set(name, std::string(in_.blob()));
            case 3: {
                const std::string_view bytes = in_.blob();
                const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
                return batch.set(name, Batch::Bytes(first, first + bytes.size()));
            }
            case 4:
                if (auto array = read_array()) return batch.set(name, std::move(*array));
                return;
            default:
                in_.fail();
        }
    }

    std::optional<Array> read_array() {
        const std::uint8_t type = in_.u8();
        Array::Shape shape(in_.count());
        for (std::size_t& length : shape) length = in_.u64();
        const std::uint64_t block = in_.u64();
        const auto bytes = type <= last_type ? executor::bytes_of_shape(static_cast<ElementType>(type), shape)
                                             : std::nullopt;
        if (!in_.ok() || !bytes) return refuse();
        std::shared_ptr<executor::Storage> storage;
        if (block == 0) {
            const std::string_view elements = in_.raw(*bytes);
            if (!in_.ok()) return refuse();
            if (*bytes > 0) {
                storage = std::make_shared<executor::Storage>(*bytes);
                std::memcpy(storage->data(), elements.data(), *bytes);
            }
        } else {
            if (block > storages_.size() || storages_[block - 1]->block()->capacity() < *bytes)
                return refuse();
            storage = storages_[block - 1];
        }
        return executor::ArrayAccess::make(static_cast<ElementType>(type), std::move(shape), *bytes,
                                           std::move(storage));
    }

    std::nullopt_t refuse() {
        in_.fail();
        return std::nullopt;
    }

    ByteReader in_;
    std::vector<std::shared_ptr<executor::Storage>> storages_;
};

}  // namespace

void encode(Batch& batch, std::string& bytes, Blocks& blocks) {
    own_inherited(batch);
    Encoder(bytes, blocks).batch(batch);
}

Result<Batch> decode(std::string_view bytes, Blocks blocks) {
    return Decoder(bytes, std::move(blocks)).batch();
}

}  // namespace wq::functions::pool
