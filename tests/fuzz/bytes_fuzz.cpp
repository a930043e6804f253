// Reads any bytes as any sequence of fields: never beyond the end, zeros after the first bad field. What was
// read correctly is the same after writing and reading it again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/units.h"
#include "require.h"

namespace {

using wq::ByteReader;
using wq::ByteWriter;
using wq::fuzz::require;

// Reads one field of type `kind` and checks it; true if the field was valid.
bool read_field(ByteReader& in, unsigned kind) {
    const std::size_t before = in.rest().size();
    ByteWriter out;
    const auto again = [&](auto&& field) {
        if (!in.ok()) return;
        ByteReader copy(out.bytes());
        require(field(copy) && copy.at_end(), "a good field comes back");
    };
    if (kind == 0) {
        const auto value = in.u64();
        out.u64(value);
        again([&](ByteReader& copy) { return copy.u64() == value; });
    } else if (kind == 1) {
        const auto value = in.i64();
        out.i64(value);
        again([&](ByteReader& copy) { return copy.i64() == value; });
    } else if (kind == 2) {
        const auto value = in.f64();
        out.f64(value);
        again([&](ByteReader& copy) {
            const double back = copy.f64();
            return back == value || (std::isnan(back) && std::isnan(value));
        });
    } else if (kind == 3) {
        const auto value = in.blob();
        require(value.size() <= before, "a blob lies within its bytes");
        out.blob(value);
        again([&](ByteReader& copy) { return copy.blob() == value; });
    } else if (kind == 4) {
        const auto value = in.boolean();
        out.boolean(value);
        again([&](ByteReader& copy) { return copy.boolean() == value; });
    } else if (kind == 5) {
        const auto count = in.count(3);
        require(count <= in.rest().size() / 3, "a count never passes what the rest can hold");
    } else {
        in.u32();
        in.u8();
    }
    require(in.rest().size() <= before, "a reader only goes forward");
    if (!in.ok()) {
        require(in.u64() == 0 && in.blob().empty() && in.count() == 0 && !in.boolean() && in.rest().empty(),
                "after a bad field all is zero");
    }
    return in.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string_view kinds = bytes.substr(0, size / 4);
    ByteReader in(bytes.substr(size / 4));
    for (const char kind : kinds) {
        if (!read_field(in, static_cast<unsigned char>(kind) % 7)) break;
    }
    require(wq::quote_for_message(bytes).size() <= 80, "a quoted text is short");
    // Any text is a duration, a size, or rejected in one line.
    if (const auto value = wq::parse_duration(bytes))
        require(value->count() >= 0, "a duration is not negative");
    if (const auto value = wq::parse_size(bytes)) require(*value >= 0, "a size is not negative");
    const std::size_t cut = size / 2;
    require(wq::crc32c(bytes.substr(cut), wq::crc32c(bytes.substr(0, cut))) == wq::crc32c(bytes),
            "a checksum goes on where it stopped");
    return 0;
}
