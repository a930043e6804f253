#include "programs/slices/mpi_loop.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "programs/slices/records_feed.h"
#include "programs/slices/saver.h"

namespace wq::programs::slices {

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

void print_line(const std::string& what) {
    std::fprintf(stderr, "work_queue_slices: %s\n", what.c_str());
}

// No work is there as a file, and not all have "://": they may be names, or mistyped.
bool only_names(const SliceQueue& slices, const std::vector<std::string>& works) {
    return !*slices.options().must_exist && std::any_of(works.begin(), works.end(), [&](const auto& work) {
        return (slices.options().prefix + work).find("://") == std::string::npos;
    });
}

// Runs the command for the slices that this process takes.
class Commands {
  public:
    Commands(SliceQueue& slices, const Options& options)
        : options_(options), slices_(slices), records_(slices), command_(options.command, slices.rank()) {}
    Commands(const Commands&) = delete;

    // `after_each`: called once a slice is committed. Returns false, and takes none, if the command cannot be
    // run here: others would lose all slices to a host where each fails at once.
    bool run(const std::function<void()>& after_each) {
        if (const std::string why = command_.problem(); !why.empty()) {
            print_line("rank " + std::to_string(slices_.rank()) + " takes no slices: " + why);
            return false;
        }
        while (const auto slice = slices_.take()) {
            attempt(*slice) ? slices_.commit(*slice) : slices_.commit_failed(*slice);
            after_each();
        }
        return true;
    }

  private:
    bool attempt(const Slice& slice) {
        std::string wrong;
        for (std::int64_t tries = 0; tries <= options_.retries; ++tries) {
            wrong = command_.run(slice, records_);
            if (wrong.empty()) return true;
            if (slices_.lost().stop_requested()) return false;  // take() says why
        }
        const std::string tries =
            options_.retries == 0 ? "" : " (" + std::to_string(options_.retries + 1) + " tries" + ")";
        print_line("rank " + std::to_string(slices_.rank()) + ": failed: epoch " +
                   std::to_string(slice.epoch) + ", " + slice.text() + ": " + wrong + tries);
        return false;
    }

    const Options& options_;
    SliceQueue& slices_;
    RecordsFeed records_;
    SliceCommand command_;
    // Others run what this process runs.
    std::stop_callback<std::function<void()>> on_lost_{slices_.lost(), [this] { command_.stop(); }};
};

int code_of(const SliceQueue& slices, bool could_run) {
    const std::uint64_t failed = slices.failed();
    if (failed > 0)
        print_line(count_of(failed, "slice") + " of " +
                   format_count(slices.size() * static_cast<std::uint64_t>(slices.options().num_epochs)) +
                   " failed");
    return !could_run ? to_int(ExitCode::usage) : failed > 0 ? 1 : 0;
}

}  // namespace

int take_slices(MpiSession& mpi, const Options& options) {
    SliceQueue slices(mpi, options.works, restoring(options));
    std::optional<Saver> saver;
    if (mpi.rank() == 0) {
        print_line("seed " + std::to_string(slices.seed()));
        if (only_names(slices, options.works))
            print_line(
                "no work is a file on this machine: commands get only the slices' names, and an empty stdin");
        if (!options.checkpoint.empty())
            saver.emplace([&] { slices.save(options.checkpoint); }, print_line, options.save_every);
    }
    const bool saves_each = saver && options.save_every == Duration::zero();
    const bool could_run = Commands(slices, options).run([&] {
        if (saves_each) saver->save();
    });
    if (!saver || saver->finish()) return code_of(slices, could_run);
    print_line(
        options.checkpoint +
        " is not up to date: a resumed run would repeat the slices that ended since the last save; before "
        "you resume, make room on the disk, or make the folder writable");
    return to_int(ExitCode::bad_input);
}

int take_slices_of_other_run(const Options& options) {
    SliceQueue slices = SliceQueue::as_worker(options.join);
    print_line("worker " + std::to_string(slices.rank()) + " of " + line_for_message(slices.options().name));
    const bool could_run = Commands(slices, options).run([] {});
    return code_of(slices, could_run);
}

}  // namespace wq::programs::slices
