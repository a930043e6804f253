// Writes and reads binary fields. Numbers are LEB128 varints (zigzag if signed); strings and blobs are
// length-prefixed. The reader never throws and never reads past its end: after the first bad field every
// field reads as zero and ok() is false, so a decoder reads all fields and checks once. fields.h does both
// for a value by the list of its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace wq {

class ByteWriter {
  public:
    void u8(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
    void u64(std::uint64_t value);
    void i64(std::int64_t value);
    void f64(double value);
    void boolean(bool value) { u8(value ? 1 : 0); }
    void blob(std::string_view value);
    void raw(std::string_view value);

    std::size_t size() const { return bytes_.size(); }
    const std::string& bytes() const { return bytes_; }
    std::string take();  // leaves the writer empty

  private:
    std::string bytes_;
};

class ByteReader {
  public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    std::uint8_t u8();
    std::uint64_t u64();
    std::uint32_t u32();  // bad if above 2^32 - 1
    std::int64_t i64();
    double f64();
    bool boolean();           // bad if neither 0 nor 1
    std::string_view blob();  // points into the bytes given
    std::string_view raw(std::uint64_t size);
    std::string_view rest() const { return rest_; }

    // A count of elements that follow; bad if fewer than count * least_bytes bytes remain, so that a short
    // message cannot make its reader reserve gigabytes. An element has at least one byte.
    std::uint64_t count(std::size_t least_bytes = 1);

    bool ok() const { return ok_; }
    bool at_end() const { return ok_ && rest_.empty(); }
    void fail() { ok_ = false, rest_ = {}; }

  private:
    std::string_view rest_;
    bool ok_ = true;
};

// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), as in RFC 3720 appendix B.4.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

}  // namespace wq
