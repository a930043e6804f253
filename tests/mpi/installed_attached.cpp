// A program with MPI of its own: its commands are run by the installed work_queue_launcher.
#include <mpi.h>
#include <work_queue/manager.h>
#include <work_queue/mpi.h>

#include <iostream>

int main(int argc, char** argv) {
    int granted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
    int code = 1;
    try {
        wq::MpiSession session;
        if (session.rank() > 0) {
            code = session.serve();
        } else {
            wq::ManagerOptions options;
            options.listen = false;
            options.mpi = &session;
            wq::Manager manager(options);
            manager.submit(wq::Task("readlink /proc/$PPID/exe"));
            const auto task = manager.wait();
            std::cout << task->output();
            code = task->ok() ? 0 : 1;
        }
    } catch (const wq::SetupError& error) {
        std::cerr << error.what() << "\n";
        MPI_Abort(MPI_COMM_WORLD, error.exit_code());
    }
    MPI_Finalize();
    return code;
}
