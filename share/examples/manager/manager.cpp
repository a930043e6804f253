// A manager that runs a hundred commands; workers join with its contact file:
//   work_queue_worker --contact contact
#include <work_queue/manager.h>

#include <cstdio>

int main() {
    try {
        wq::ManagerOptions options;
        options.port = 0;
        options.contact_file = "contact";
        options.transactions_log = "transactions.log";
        wq::Manager manager(options);
        std::printf("port %d: start workers with: work_queue_worker --contact contact\n", manager.port());
        std::fflush(stdout);
        for (int i = 1; i <= 100; ++i) {
            const std::string number = std::to_string(i);
            manager.submit(wq::Task("echo $((" + number + " * " + number + "))").tag(number).cores(1));
        }
        long long sum = 0;
        while (!manager.empty()) {
            const auto task = manager.wait(5);
            if (!task) continue;
            if (task->ok())
                sum += std::stoll(task->output());
            else
                std::printf("task %s: %s, %s\n", task->tag().c_str(), task->result_str(),
                            task->reason().c_str());
        }
        std::printf("sum of squares: %lld\n", sum);
        manager.shutdown_workers(0);
        return sum == 338350 ? 0 : 1;
    } catch (const wq::SetupError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
}
