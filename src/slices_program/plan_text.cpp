#include "slices_program/plan_text.h"

#include <cinttypes>

namespace wq::slices_program {

void explain(const Options& options, std::FILE* out) {
    SliceQueue plan(options.works, options.slices);
    std::fprintf(out, "# %" PRIu64 " slices an epoch, %" PRId64 " epochs, %s, seed %" PRIu64 "\n",
                 plan.size(), options.slices.num_epochs, options.slices.shuffle ? "shuffled" : "in order",
                 plan.seed());
    std::fputs("# position\tepoch\tslice\n", out);
    while (const auto slice = plan.take()) {
        std::fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%s\n", slice->position, slice->epoch,
                     slice->text().c_str());
        if (std::ferror(out) != 0) return;  // its reader has seen enough
        plan.commit(*slice);
    }
}

}  // namespace wq::slices_program
