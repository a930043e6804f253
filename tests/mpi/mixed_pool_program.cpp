// A manager of ranks and TCP workers that runs COUNT times COMMAND. Prints which worker ran each.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "work_queue/error.h"
#include "work_queue/manager.h"
#include "work_queue/mpi.h"

namespace {

wq::ManagerOptions options(wq::MpiSession& session) {
    wq::ManagerOptions options;
    options.mpi = &session;
    options.contact_file = "contact";
    options.transactions_log = "transactions.log";
    options.away_limit = 0;
    return options;
}

int manage(wq::MpiSession& session, int count, const std::string& command) {
    wq::Manager manager(options(session));
    for (int index = 0; index < count; ++index) manager.submit(wq::Task(command).cores(1));
    int failed = 0;
    while (!manager.empty()) {
        const auto task = manager.wait();
        if (!task) continue;
        failed += task->ok() ? 0 : 1;
        std::printf("%s", task->output().c_str());
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 64;
    try {
        wq::MpiSession session;
        return session.rank() > 0 ? session.serve() : manage(session, std::atoi(argv[1]), argv[2]);
    } catch (const wq::SetupError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
}
