#include "base/bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace wq {

void ByteWriter::u64(std::uint64_t value) {
    while (value >= 0x80) {
        u8(static_cast<std::uint8_t>(value | 0x80));
        value >>= 7;
    }
    u8(static_cast<std::uint8_t>(value));
}

void ByteWriter::i64(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    u64((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::f64(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) u8(static_cast<std::uint8_t>(bits >> shift));
}

// Reserves extra room, because std::string grows to exactly the size of a long value, and the next byte would
// move all of it.
void ByteWriter::raw(std::string_view value) {
    constexpr std::size_t room_behind = 256;
    if (bytes_.capacity() - bytes_.size() < value.size())
        bytes_.reserve(bytes_.size() + value.size() + room_behind);
    bytes_.append(value);
}

void ByteWriter::blob(std::string_view value) {
    u64(value.size());
    raw(value);
}

std::string ByteWriter::take() {
    return std::exchange(bytes_, {});
}

std::uint8_t ByteReader::u8() {
    if (rest_.empty()) {
        fail();
        return 0;
    }
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
}

std::uint64_t ByteReader::u64() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const std::uint8_t byte = u8();
        if (!ok_) return 0;
        const auto payload = static_cast<std::uint64_t>(byte & 0x7F);
        if (shift == 63 && payload > 1) break;
        value |= payload << shift;
        if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
}

std::uint32_t ByteReader::u32() {
    const std::uint64_t value = u64();
    if (value > std::numeric_limits<std::uint32_t>::max()) {
        fail();
        return 0;
    }
    return static_cast<std::uint32_t>(value);
}

std::int64_t ByteReader::i64() {
    const std::uint64_t bits = u64();
    return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

double ByteReader::f64() {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 8) bits |= static_cast<std::uint64_t>(u8()) << shift;
    return ok_ ? std::bit_cast<double>(bits) : 0.0;
}

bool ByteReader::boolean() {
    const std::uint8_t value = u8();
    if (value > 1) fail();
    return value == 1;
}

std::string_view ByteReader::blob() {
    return raw(u64());
}

std::string_view ByteReader::raw(std::uint64_t size) {
    if (size > rest_.size()) {
        fail();
        return {};
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
}

std::uint64_t ByteReader::count(std::size_t least_bytes) {
    const std::uint64_t value = u64();
    if (value > rest_.size() / std::max<std::size_t>(least_bytes, 1)) {
        fail();
        return 0;
    }
    return value;
}

namespace {

using Table = std::array<std::uint32_t, 256>;

// Table k has the effect of a byte that is followed by k more bytes. So eight bytes are computed
// independently, which is five times as fast as byte by byte.
constexpr std::array<Table, 8> make_tables() {
    std::array<Table, 8> tables{};
    for (std::uint32_t index = 0; index < 256; ++index) {
        std::uint32_t value = index;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0U);
        tables[0][index] = value;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t index = 0; index < 256; ++index) {
            const std::uint32_t before = tables[k - 1][index];
            tables[k][index] = tables[0][before & 0xFF] ^ (before >> 8);
        }
    }
    return tables;
}
constexpr auto tables = make_tables();

std::uint32_t byte_of(std::string_view bytes, std::size_t at) {
    return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
    std::uint32_t value = ~seed;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
        value ^=
            byte_of(bytes, 0) | byte_of(bytes, 1) << 8 | byte_of(bytes, 2) << 16 | byte_of(bytes, 3) << 24;
        value = tables[7][value & 0xFF] ^ tables[6][value >> 8 & 0xFF] ^ tables[5][value >> 16 & 0xFF] ^
                tables[4][value >> 24] ^ tables[3][byte_of(bytes, 4)] ^ tables[2][byte_of(bytes, 5)] ^
                tables[1][byte_of(bytes, 6)] ^ tables[0][byte_of(bytes, 7)];
    }
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        value = tables[0][(value ^ byte_of(bytes, at)) & 0xFF] ^ (value >> 8);
    }
    return ~value;
}

}  // namespace wq
