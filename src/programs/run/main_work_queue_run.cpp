// work_queue_run: programs/run/run_options.cpp has its options, share/doc its documentation.
#include <fcntl.h>
#include <unistd.h>
#include <csignal>

#include <cstdio>
#include <cstdlib>

#include "base/shortage.h"
#include "manager/report/kept_output.h"
#include "programs/run/mpi_rank_main.h"
#include "programs/run/questions.h"
#include "programs/run/run_options.h"
#include "ranks/mpi/guard.h"
#include "ranks/mpi/launch_environment.h"

namespace {

// Every rank has the same command line; only one answers.
bool answers_for_all() {
    return wq::ranks::mpi::read_launch_environment().rank == 0;
}

int fail(const wq::Error& error) {
    if (answers_for_all()) std::fprintf(stderr, "work_queue_run: %s\n", error.message.c_str());
    return wq::to_int(error.code);
}

int print(const std::string& text) {
    if (!answers_for_all()) return 0;
    std::fwrite(text.data(), 1, text.size(), stdout);
    return wq::after_output("work_queue_run", 0);
}

// If descriptor 1 or 2 is closed, opens /dev/null on it. Otherwise the next file opened there would receive
// our output.
void fill_standard_descriptors() {
    int descriptor = 0;
    while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
    if (descriptor >= 0) ::close(descriptor);
}

int print_output(const wq::programs::run::Command& command) {
    const auto output =
        wq::manager::report::kept_output(command.output_directory, wq::TaskId(command.output_task));
    if (!output) return fail(output.error());
    if (!answers_for_all()) return 0;
    std::fwrite(output->out.data(), 1, output->out.size(), stdout);
    std::fwrite(output->err.data(), 1, output->err.size(), stderr);
    return wq::after_output("work_queue_run", 0);
}

}  // namespace

int main(int argc, char** argv) {
    fill_standard_descriptors();
    const auto command = wq::programs::run::parse_command_line(argc, argv);
    if (!command) return fail(command.error());
    using Kind = wq::programs::run::Command::Kind;
    if (command->kind == Kind::help) return print(wq::programs::run::help_text());
    if (command->kind == Kind::version) return print("work_queue_run " WQ_VERSION "\n");
    if (command->kind == Kind::output) return print_output(*command);
    if (command->kind == Kind::why) {
        const auto line = wq::programs::run::why(command->run, command->why_line);
        return line ? print(*line + "\n") : fail(line.error());
    }
    if (command->kind == Kind::status) {
        const auto text = wq::programs::run::run_status(command->status_of, command->run.json);
        return text ? print(*text + "\n") : fail(text.error());
    }
    wq::ranks::mpi::GuardOptions guard;
    guard.say = [](const std::string& text) { std::fprintf(stderr, "work_queue_run: %s\n", text.c_str()); };
    guard.resumable = true;
    const std::vector<std::string> words(argv, argv + argc);
    // With a file size limit, the write then fails with an error that has the path, instead of ending the
    // run.
    std::signal(SIGXFSZ, SIG_IGN);
    return wq::ranks::mpi::run_guarded(
        wq::ranks::mpi::read_launch_environment(),
        [&](wq::ranks::mpi::GuardLink& link) {
            return wq::programs::run::rank_main(command->run, words, link);
        },
        guard);
}
