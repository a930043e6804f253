#include "manager/run/own_worker.h"

#include <cstdlib>
#include <filesystem>

#include "manager/run/job_end.h"
#include "node/machine/batch_job.h"
#include "records/journal/run_status.h"

namespace wq::manager::run {

OwnWorker::OwnWorker(worker::WorkerOptions options, node::launcher::Launcher& launcher,
                     ranks::tickets::TicketPool* tickets, node::launcher::FunctionRunner* functions,
                     Background* files)
    : launcher_(launcher), functions_(functions), files_(files) {
    const net::frames::PeerId manager(0);
    const net::frames::PeerId self(1);
    manager_end_ = network_.endpoint(manager);
    worker_end_ = network_.endpoint(self);
    network_.connect(manager, self);
    options.hello.takes_tickets = tickets != nullptr;
    if (tickets != nullptr) taker_.emplace(*tickets, options.hello.offers);
    worker_.emplace(std::move(options), *worker_end_, manager, launcher_, taker_ ? &*taker_ : nullptr,
                    functions_, files_);
}

namespace {

std::string temporary_folder() {
    const char* folder = std::getenv("TMPDIR");
    return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace

worker::WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share) {
    worker::WorkerOptions worker;
    worker.hello.rank = static_cast<std::uint32_t>(options.rank);
    worker.hello.host = records::journal::host_name();
    worker.hello.offers = share.offers;
    worker.hello.allocated_cores = share.allocated_cores;
    worker.hello.job = node::machine::batch_job(node::machine::batch_environment());
    worker.leaves_at = options.leaves_at;
    worker.job_started = known_start();
    // Rank 0's manager is in its own process, so it cannot be silent while the worker lives.
    if (options.rank == 0) worker.manager_silence.reset();
    for (const std::string& remark : options.rank == 0 ? std::vector<std::string>() : share.remarks)
        worker.hello.remark += (worker.hello.remark.empty() ? "" : "; ") + remark;
    worker.launcher.slice = share.slice;
    worker.launcher.shell = options.shell;
    worker.launcher.scratch = temporary_folder();
    worker.launcher.working_directory = std::filesystem::current_path().string();
    worker.launcher.environment = {{"WORKERID", std::to_string(options.rank)}};
    worker.index_variable = options.index_variable;
    worker.launcher.environment_lines = options.environment_lines;
    return worker;
}

}  // namespace wq::manager::run
