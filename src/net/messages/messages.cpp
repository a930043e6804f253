#include "net/messages/messages.h"

#include <algorithm>
#include <array>
#include <exception>

#include "net/messages/packing.h"

namespace wq::net::messages {

namespace {

// A frame of 1 MiB holds fewer (see net/session/outbox.h); this many of the smallest would take 150 MiB here.
constexpr std::size_t most_messages = std::size_t{1} << 19;
// Deeper than any message: Lease > files > inputs > input.
constexpr std::size_t deepest = 8;

// Nothing in a frame has more elements, or longer strings, than the frame has bytes.
msgpack::unpack_limit limits(std::string_view frame) {
    const std::size_t most = frame.size();
    return {most, 0, 0, most, 0, deepest};
}

bool first_of_another_version(const msgpack::object& value, std::uint32_t& version) {
    const auto& array = value.via.array;
    if (array.size < 2 || array.ptr[1].type != msgpack::type::POSITIVE_INTEGER) return false;
    version = static_cast<std::uint32_t>(std::min<std::uint64_t>(array.ptr[1].via.u64, UINT32_MAX));
    return version != protocol_version;
}
template <class M>
bool of_another_version(const msgpack::object& value, M& message) {
    // The others follow one of these on a connection.
    if constexpr (!std::is_same_v<M, Hello> && !std::is_same_v<M, StatusQuery> &&
                  !std::is_same_v<M, StatusReport> && !std::is_same_v<M, LastWords>)
        return false;
    else
        return first_of_another_version(value, message.version);
}

template <std::size_t Kind>
bool read(const msgpack::object& value, std::vector<Message>& messages) {
    auto& message = std::get<Kind>(messages.emplace_back(std::in_place_index<Kind>));
    if (of_another_version(value, message)) return true;
    Unpack in(value, 1);
    fields(message, in);
    return in.ok();
}

template <std::size_t... Kinds>
constexpr auto make_readers(std::index_sequence<Kinds...>) {
    return std::array{&read<Kinds>...};
}
constexpr auto readers = make_readers(std::make_index_sequence<std::variant_size_v<Message>>());

bool read_message(const msgpack::object& value, std::vector<Message>& messages) {
    if (value.type != msgpack::type::ARRAY || value.via.array.size == 0) return false;
    const msgpack::object& kind = value.via.array.ptr[0];
    if (kind.type != msgpack::type::POSITIVE_INTEGER || kind.via.u64 >= readers.size()) return false;
    return readers[kind.via.u64](value, messages);
}

}  // namespace

void encode(const Message& message, ByteWriter& out) {
    std::visit([&](const auto& known) { Pack(out).message(message.index(), known); }, message);
}

std::string encode(const Message& message) {
    ByteWriter out;
    encode(message, out);
    return out.take();
}

std::optional<std::vector<Message>> decode(std::string_view frame) {
    std::size_t at = 0;
    auto messages = decode(frame, at, most_messages);
    return at == frame.size() ? std::move(messages) : std::nullopt;
}

std::optional<std::vector<Message>> decode(std::string_view frame, std::size_t& at, std::size_t most) {
    std::vector<Message> messages;
    msgpack::zone zone;
    // Fields copy their strings out of the frame; the library must not copy them first.
    const auto stay = [](msgpack::type::object_type, std::size_t, void*) { return true; };
    try {
        while (at < frame.size() && messages.size() < most) {
            const msgpack::object value =
                msgpack::unpack(zone, frame.data(), frame.size(), at, stay, nullptr, limits(frame));
            if (!read_message(value, messages)) return std::nullopt;
        }
    } catch (const std::exception&) {  // truncated, too deep, beyond a limit, or larger than our memory
        return std::nullopt;
    }
    return messages;
}

}  // namespace wq::net::messages
