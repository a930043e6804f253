// runtask: options.cpp has its options, share/doc/runtask.md its documentation.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/read_write.h"
#include "base/shortage.h"
#include "node/process/command_host.h"
#include "programs/runtask/list_commands.h"
#include "programs/runtask/list_worker.h"
#include "programs/runtask/options.h"

namespace {

using wq::programs::runtask::Options;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

wq::Result<int> carry_out(const Options& options) {
    switch (options.mode) {
        case Options::Mode::help:
            std::fputs(wq::programs::runtask::help().c_str(), stdout);
            return 0;
        case Options::Mode::version:
            std::puts("runtask " WQ_VERSION);
            return 0;
        case Options::Mode::lock:
            return wq::programs::runtask::lock_list(options);
        case Options::Mode::reset:
            return wq::programs::runtask::reset_list(options);
        case Options::Mode::release:
            return wq::programs::runtask::release_worker(options);
        case Options::Mode::status:
            return wq::programs::runtask::print_status(options);
        case Options::Mode::check:
            return wq::programs::runtask::check_list(options);
        case Options::Mode::run:
            break;
    }
    if (wq::programs::runtask::needs_manager(options)) return wq::programs::runtask::become_manager(options);
    return wq::programs::runtask::ListWorker(options).run();
}

int fail(const wq::Error& error) {
    std::fprintf(stderr, "runtask: %s\n", error.message.c_str());
    return wq::to_int(error.code);
}

}  // namespace

int main(int argc, char** argv) {
    wq::node::process::host_commands_if_asked(argc, argv);
    // If the reader of our output ends, we must not end in the middle of a line.
    wq::block_broken_pipes();
    const auto options = wq::programs::runtask::parse_options(argc, argv, variable);
    if (!options) return fail(options.error());
    try {
        const auto code = carry_out(*options);
        return code ? wq::after_output("runtask", *code) : fail(code.error());
    } catch (const wq::Failure& failure) {
        return fail(failure.error);
    } catch (const std::exception& problem) {
        return fail(wq::unexpected(problem));
    }
}
