// The ranks of an MPI job as workers of their own manager:
//   mpirun -n 4 ranks
#include <work_queue/manager.h>
#include <work_queue/mpi.h>

#include <cstdio>
#include <string>

int main() {
    try {
        wq::MpiSession mpi;                      // first thing in main()
        if (mpi.rank() > 0) return mpi.serve();  // works until the manager ends
        wq::ManagerOptions options;
        options.listen = false;  // true: TCP workers may join
        options.mpi = &mpi;
        wq::Manager manager(options);
        for (int i = 1; i <= 100; ++i)
            manager.submit(wq::Task("echo $((" + std::to_string(i) + " * 2))").cores(1));
        long long sum = 0;
        while (!manager.empty())
            if (const auto task = manager.wait(); task && task->ok()) sum += std::stoll(task->output());
        std::printf("%d ranks: %lld\n", mpi.size(), sum);
        return sum == 10100 ? 0 : 1;
    } catch (const wq::SetupError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
}
