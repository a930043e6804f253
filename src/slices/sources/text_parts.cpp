#include "slices/sources/text_parts.h"

#include <cstdint>
#include <utility>

namespace wq::slices::sources {

namespace {

LinePart part_in(ByteReader& in) {
    LinePart part;
    part.bytes.first = in.u64();
    part.bytes.end = in.u64();
    part.lines = in.u64();
    part.step = in.u64();
    part.offsets.resize(in.count());
    std::uint64_t last = part.bytes.first;
    for (std::uint64_t& offset : part.offsets) offset = last += in.u64();
    return part;
}

}  // namespace

void put(ByteWriter& out, std::size_t work, const LinePart& part) {
    out.u64(work);
    out.u64(part.bytes.first);
    out.u64(part.bytes.end);
    out.u64(part.lines);
    out.u64(part.step);
    out.u64(part.offsets.size());
    std::uint64_t last = part.bytes.first;
    for (const std::uint64_t offset : part.offsets) {
        out.u64(offset - last);  // small numbers take few bytes
        last = offset;
    }
}

Result<std::vector<std::vector<LinePart>>> parts_in(const std::vector<std::string>& of_ranks,
                                                    std::size_t works) {
    std::vector<std::vector<LinePart>> parts(works);
    for (const std::string& of_rank : of_ranks) {
        for (ByteReader in(of_rank); !in.at_end();) {
            const std::uint64_t work = in.u64();
            LinePart part = part_in(in);
            if (!in.ok() || work >= works)
                return Error{ExitCode::internal, "a rank's part of a line index cannot be read"};
            parts[work].push_back(std::move(part));
        }
    }
    return parts;
}

}  // namespace wq::slices::sources
