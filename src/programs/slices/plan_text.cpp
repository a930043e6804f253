#include "programs/slices/plan_text.h"

#include <cinttypes>

#include "base/units.h"

namespace wq::programs::slices {

void explain(const Options& options, std::FILE* out) {
    SliceQueue plan(options.works, options.slices);
    std::fprintf(out, "# %s an epoch, %s, %s, seed %" PRIu64 "\n", count_of(plan.size(), "slice").c_str(),
                 count_of(static_cast<std::uint64_t>(options.slices.num_epochs), "epoch").c_str(),
                 options.slices.shuffle ? "shuffled" : "in order", plan.seed());
    std::fputs("# position\tepoch\tslice\n", out);
    while (const auto slice = plan.take()) {
        std::fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%s\n", slice->position, slice->epoch,
                     slice->text().c_str());
        if (std::ferror(out) != 0) return;  // its reader has seen enough
        plan.commit(*slice);
    }
}

}  // namespace wq::programs::slices
