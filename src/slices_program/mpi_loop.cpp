#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/time.h"
#include "base/units.h"
#include "slices_program/loop.h"
#include "slices_program/runner.h"

namespace wq::slices_program {

namespace {

SliceOptions restoring(const Options& options) {
    SliceOptions slices = options.slices;
    // One that cannot be looked at now is an error: it would be overwritten.
    std::error_code unknown;
    const auto there = std::filesystem::status(options.checkpoint, unknown).type();
    if (!options.checkpoint.empty() && there != std::filesystem::file_type::not_found)
        slices.restore = options.checkpoint;
    return slices;
}

class Rank {
  public:
    Rank(MpiSession& mpi, const Options& options)
        : options_(options),
          rank_(mpi.rank()),
          slices_(mpi, options.works, restoring(options)),
          records_(slices_, options.slices.record_bytes),
          runner_(options.command, mpi.rank()) {
        if (!options.summary.hdf5.empty() || !options.summary.tensorboard.empty())
            slices_.add_summary(options.summary);
        if (rank_ == 0) say("seed " + std::to_string(slices_.seed()));
    }

    int run() {
        while (const auto slice = slices_.take()) {
            attempt(*slice) ? slices_.commit(*slice) : slices_.commit_failed(*slice);
            save_if_due();
        }
        save();
        return slices_.failed() > 0 ? 1 : 0;
    }

  private:
    void say(const std::string& what) const { std::fprintf(stderr, "work_queue_slices: %s\n", what.c_str()); }

    bool attempt(const Slice& slice) {
        std::string wrong;
        for (std::int64_t tries = 0; tries <= options_.retries; ++tries) {
            wrong = runner_.run(slice, records_);
            if (wrong.empty()) return true;
        }
        const std::string tries =
            options_.retries == 0 ? "" : " (" + std::to_string(options_.retries + 1) + " tries" + ")";
        say("rank " + std::to_string(rank_) + ": failed: epoch " + std::to_string(slice.epoch) + ", " +
            slice.text() + ": " + wrong + tries);
        return false;
    }

    void save_if_due() {
        if (instant_now() - saved_ >= std::chrono::duration<double>(options_.save_every)) save();
    }

    // Without it nothing is lost now, so the work goes on.
    void save() {
        if (rank_ != 0 || options_.checkpoint.empty()) return;
        saved_ = instant_now();
        try {
            slices_.save(options_.checkpoint);
        } catch (const std::runtime_error& error) {
            say(error.what());
        }
    }

    const Options& options_;
    int rank_;
    SliceQueue slices_;
    RecordsFeed records_;
    Runner runner_;
    Instant saved_ = instant_now();
};

}  // namespace

int take_slices(MpiSession& mpi, const Options& options) {
    return Rank(mpi, options).run();
}

}  // namespace wq::slices_program
