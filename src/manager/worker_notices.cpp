#include "manager/worker_notices.h"

namespace wq::manager {

void WorkerNotices::joined(const Link& link, const net::messages::Hello& hello) {
    const records::journal::WorkerRecord& worker = *link.record;
    if (link.takes_tickets) to_.tickets.joined(worker.host, worker.offers.cores.rounded_down());
    if (files::transfers::FileTransfers* const transfers = to_.leases.transfers())
        transfers->joined(worker.worker, hello.node);
    to_.records.joined(worker);
}

void WorkerNotices::disconnected(WorkerId worker) {
    if (files::transfers::FileTransfers* const transfers = to_.leases.transfers()) transfers->cut(worker);
}

void WorkerNotices::unlinked(const Link& link) {
    if (link.takes_tickets) to_.tickets.left(link.record->host, link.record->offers.cores.rounded_down());
}

void WorkerNotices::departed(const records::journal::WorkerRecord& worker, const std::string& why,
                             records::journal::Departure departure, engine::model::Now now) {
    to_.leases.forget(worker.worker);
    to_.release.departed(worker.worker);
    to_.records.departed(worker, why, departure, now);
}

}  // namespace wq::manager
