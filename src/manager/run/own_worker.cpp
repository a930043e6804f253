#include "manager/run/own_worker.h"

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

}  // namespace wq::manager::run
