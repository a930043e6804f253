// A program with its own MPI calls whose ranks also run tasks:
//   mpirun -n 4 own_mpi
#include <mpi.h>
#include <work_queue/manager.h>
#include <work_queue/mpi.h>

#include <cstdio>
#include <string>

namespace {

// Commands that print their parent: work_queue_launcher, because a process that uses MPI is not forked.
int manage(wq::MpiSession& ranks) {
    wq::ManagerOptions options;
    options.listen = false;
    options.mpi = &ranks;
    wq::Manager manager(options);
    for (int i = 0; i < 20; ++i) manager.submit(wq::Task("readlink /proc/$PPID/exe").cores(1));
    int done = 0;
    std::string runner;
    while (!manager.empty()) {
        const auto task = manager.wait();
        if (!task || !task->ok()) continue;
        runner = task->output();
        ++done;
    }
    std::printf("%d commands run by %s", done, runner.c_str());
    return done;
}

}  // namespace

int main(int argc, char** argv) {
    int granted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
    int done = 0;
    try {
        wq::MpiSession ranks;  // on all ranks; the session uses MPI until its end
        if (ranks.rank() == 0)
            done = manage(ranks);
        else
            ranks.serve();
    } catch (const wq::SetupError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, error.exit_code());
    }
    MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);  // the program may use MPI again
    MPI_Finalize();
    return done == 20 ? 0 : 1;
}
