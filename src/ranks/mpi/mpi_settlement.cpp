#include "ranks/mpi/mpi_settlement.h"

#include <mpi.h>

#include <algorithm>

namespace wq::ranks::mpi {

namespace {
constexpr std::int64_t kCannotSay = -1;
}

struct MpiSettlement::Exchange {
    std::vector<std::int64_t> sent;
    std::vector<std::int64_t> received;
    MPI_Request request = MPI_REQUEST_NULL;
};

MpiSettlement::MpiSettlement(int communicator, std::vector<std::int64_t> sent, bool well)
    : exchange_(std::make_unique<Exchange>()) {
    if (!well) std::fill(sent.begin(), sent.end(), kCannotSay);
    exchange_->received.resize(sent.size(), kCannotSay);
    exchange_->sent = std::move(sent);
    MPI_Ialltoall(exchange_->sent.data(), 1, MPI_INT64_T, exchange_->received.data(), 1, MPI_INT64_T,
                  MPI_Comm_f2c(communicator), &exchange_->request);
}

MpiSettlement::~MpiSettlement() {
    if (exchange_->request == MPI_REQUEST_NULL) return;
    // MPI keeps the addresses of an exchange in progress.
    [[maybe_unused]] Exchange* left_behind = exchange_.release();
}

bool MpiSettlement::all_told() {
    if (exchange_->request == MPI_REQUEST_NULL) return true;
    int done = 0;
    return MPI_Test(&exchange_->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
}

bool MpiSettlement::all_well() const {
    return std::count(exchange_->received.begin(), exchange_->received.end(), kCannotSay) == 0;
}

std::int64_t MpiSettlement::sent_by(std::size_t rank) const {
    return exchange_->received[rank];
}

}  // namespace wq::ranks::mpi
