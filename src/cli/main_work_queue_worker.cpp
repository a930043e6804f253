// work_queue_worker: see cli/worker_options.cpp for what it takes and share/doc for what it does.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/worker_options.h"
#include "cli/worker_program.h"

int main(int argc, char** argv) {
    const auto command = wq::cli::parse_worker_command_line(
        argc, argv, [](const char* name) -> const char* { return std::getenv(name); });
    if (!command) {
        std::fprintf(stderr, "work_queue_worker: %s\n", command.error().message.c_str());
        return wq::to_int(command.error().code);
    }
    using Kind = wq::cli::WorkerCommand::Kind;
    if (command->kind == Kind::help)
        return std::fputs(wq::cli::worker_help_text().c_str(), stdout) < 0 ? 1 : 0;
    if (command->kind == Kind::version) return std::puts("work_queue_worker " WQ_VERSION) < 0 ? 1 : 0;
    std::signal(SIGXFSZ, SIG_IGN);
    return wq::cli::worker_program(command->work);
}
