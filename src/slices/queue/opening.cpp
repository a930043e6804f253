#include "slices/queue/opening.h"

#include "base/bytes.h"

namespace wq::slices::queue {

namespace {

Opening opening_of(const std::string& bytes) {
    ByteReader in(bytes);
    Opening opening;
    opening.digest = in.u64();
    opening.seed = in.u64();
    opening.contact = in.blob();
    opening.problem = in.blob();
    opening.code = in.u64();
    return opening;
}

}  // namespace

void Opening::fail(const std::string& why, int exit_code) {
    problem = why;
    code = static_cast<std::uint64_t>(exit_code);
}

std::string Opening::bytes() const {
    ByteWriter out;
    out.u64(digest);
    out.u64(seed);
    out.blob(contact);
    out.blob(problem);
    out.u64(code);
    return out.take();
}

Opening agreed(const Gather& gather, const Opening& mine) {
    const std::vector<std::string> all = gather(mine.bytes());
    const Opening first = opening_of(all.front());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const Opening opening = opening_of(all[rank]);
        if (!opening.problem.empty())
            throw SetupError("rank " + std::to_string(rank) + ": " + opening.problem,
                             static_cast<int>(opening.code));
        if (opening.digest != first.digest)
            throw SetupError("rank " + std::to_string(rank) + " has other works or options than rank 0", 64);
    }
    return first;
}

}  // namespace wq::slices::queue
