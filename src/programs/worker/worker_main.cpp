// From the command line of a worker to its exit code.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/shortage.h"
#include "programs/worker/worker_options.h"
#include "programs/worker/worker_program.h"

namespace wq::programs::worker {

int worker_main(int argc, const char* const* argv, const node::process::FunctionTable& functions) {
    const auto command = parse_worker_command_line(
        argc, argv, [](const char* name) -> const char* { return std::getenv(name); });
    if (!command) {
        std::fprintf(stderr, "work_queue_worker: %s\n", command.error().message.c_str());
        return to_int(command.error().code);
    }
    using Kind = WorkerCommand::Kind;
    if (command->kind == Kind::help || command->kind == Kind::version) {
        const std::string text =
            command->kind == Kind::help ? worker_help_text() : "work_queue_worker " WQ_VERSION "\n";
        std::fputs(text.c_str(), stdout);
        return after_output("work_queue_worker", 0);
    }
    if (command->kind == Kind::detect) return detect_program(*command);
    std::signal(SIGXFSZ, SIG_IGN);
    return run_worker(command->work, functions);
}

}  // namespace wq::programs::worker
