#include "api/own_worker.h"

namespace wq::api {

OwnWorker::OwnWorker(app::WorkerOptions options, host::Launcher& launcher, host::FunctionRunner& functions,
                     transport::TicketPool* tickets)
    : launcher_(launcher), functions_(functions) {
    const transport::PeerId manager(0);
    const transport::PeerId self(1);
    manager_end_ = network_.endpoint(manager);
    worker_end_ = network_.endpoint(self);
    network_.connect(manager, self);
    options.hello.takes_tickets = tickets != nullptr;
    if (tickets != nullptr) taker_.emplace(*tickets, options.hello.offers);
    worker_.emplace(std::move(options), *worker_end_, manager, launcher_, taker_ ? &*taker_ : nullptr,
                    &functions_, &files_);
}

}  // namespace wq::api
