#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/exit_code.h"
#include "base/time.h"
#include "slices_program/loop.h"
#include "slices_program/runner.h"
#include "slices_program/saver.h"

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
          records_(slices_, options),
          runner_(options.command, mpi.rank()) {
        if (!options.summary.hdf5.empty() || !options.summary.tensorboard.empty())
            slices_.add_summary(options.summary);
        if (rank_ != 0) return;
        say("seed " + std::to_string(slices_.seed()));
        if (records_.only_names())
            say("no work is a file that is here: commands get the names, and nothing on stdin");
        if (options.checkpoint.empty()) return;
        saver_.emplace([this] { slices_.save(options_.checkpoint); },
                       [](const std::string& problem) { say(problem); }, options.save_every);
    }

    int run() {
        while (const auto slice = slices_.take()) {
            attempt(*slice) ? slices_.commit(*slice) : slices_.commit_failed(*slice);
            if (saver_ && options_.save_every == Duration::zero()) saver_->save();
        }
        if (saver_ && !saver_->finish()) {
            say(options_.checkpoint +
                " is not up to date: the next run with it would do again what was done since it was last "
                "saved; first make room, or a folder that can be written");
            return to_int(ExitCode::bad_input);
        }
        return slices_.failed() > 0 ? 1 : 0;
    }

  private:
    static void say(const std::string& what) {
        std::fprintf(stderr, "work_queue_slices: %s\n", what.c_str());
    }

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

    const Options& options_;
    int rank_;
    SliceQueue slices_;
    RecordsFeed records_;
    Runner runner_;
    std::optional<Saver> saver_;  // of rank 0, with a checkpoint
};

}  // namespace

int take_slices(MpiSession& mpi, const Options& options) {
    return Rank(mpi, options).run();
}

}  // namespace wq::slices_program
