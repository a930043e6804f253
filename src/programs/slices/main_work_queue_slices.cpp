// work_queue_slices: options.cpp has its options, share/doc/slices.md its documentation.
#include <cstdio>
#include <exception>

#include "base/read_write.h"
#include "base/shortage.h"
#include "node/process/command_host.h"
#include "programs/slices/audit.h"
#include "programs/slices/mpi_loop.h"
#include "programs/slices/options.h"
#include "ranks/mpi/launch_environment.h"

namespace {

using wq::programs::slices::Options;

// Every rank has the same command line; only one answers.
bool answers_for_all() {
    return wq::ranks::mpi::read_launch_environment().rank == 0;
}

int fail(const std::string& why, int code) {
    if (answers_for_all()) std::fprintf(stderr, "work_queue_slices: %s\n", why.c_str());
    return code;
}

int answer(const Options& options) {
    switch (options.mode) {
        case Options::Mode::help:
            std::fputs(wq::programs::slices::help().c_str(), stdout);
            return 0;
        case Options::Mode::version:
            std::puts("work_queue_slices " WQ_VERSION);
            return 0;
        case Options::Mode::explain:
            wq::programs::slices::explain(options, stdout);
            return 0;
        case Options::Mode::audit:
        case Options::Mode::run:
            break;
    }
    const auto audited = wq::programs::slices::audit_files(options);
    return audited ? *audited : fail(audited.error().message, wq::to_int(audited.error().code));
}

wq::Error error_of(const std::exception& error) {
    return wq::shortage_of(error).value_or(wq::Error{wq::ExitCode::unreachable, error.what()});
}

int take(wq::MpiSession& mpi, const Options& options) {
    try {
        return wq::programs::slices::take_slices(mpi, options);
    } catch (const wq::SetupError& error) {
        // All ranks have the same to say.
        if (mpi.rank() == 0) std::fprintf(stderr, "work_queue_slices: %s\n", error.what());
        return error.exit_code();
    } catch (const std::exception& error) {
        const wq::Error why = error_of(error);
        std::fprintf(stderr, "work_queue_slices: rank %d: %s\n", mpi.rank(), why.message.c_str());
        return wq::to_int(why.code);
    }
}

int join(const Options& options) {
    try {
        return wq::programs::slices::take_slices_of_other_run(options);
    } catch (const wq::SetupError& error) {
        std::fprintf(stderr, "work_queue_slices: %s\n", error.what());
        return error.exit_code();
    } catch (const std::exception& error) {
        const wq::Error why = error_of(error);
        return fail(why.message, wq::to_int(why.code));
    }
}

int run(const Options& options) {
    // A command that does not read its stdin must not end a rank.
    wq::block_broken_pipes();
    if (!options.join.contact.empty()) return join(options);
    try {
        wq::MpiSession mpi;
        return take(mpi, options);
    } catch (const wq::SetupError& error) {  // of the session
        return fail(error.what(), error.exit_code());
    }
}

}  // namespace

int main(int argc, char** argv) {
    wq::node::process::host_commands_if_asked(argc, argv);
    const auto options = wq::programs::slices::parse_options(argc, argv);
    if (!options) return fail(options.error().message, wq::to_int(options.error().code));
    if (options->mode == Options::Mode::run) return wq::after_output("work_queue_slices", run(*options));
    if (!answers_for_all()) return 0;
    try {
        return wq::after_output("work_queue_slices", answer(*options));
    } catch (const wq::SetupError& error) {
        return fail(error.what(), error.exit_code());
    }
}
