#include "ranks/mpi/mpi_receiver.h"

#include <mpi.h>

#include <array>
#include <deque>

#include "ranks/mpi/fragments.h"

namespace wq::ranks::mpi {

namespace {

// Looking behind an incomplete head costs a second round of progress, so only some of the idle calls do it.
constexpr unsigned kCallsPerLookBehind = 64;

struct Slot {
    std::array<char, kFragmentBytes> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
};

}  // namespace

struct MpiReceiver::Ring {
    MPI_Comm comm = MPI_COMM_NULL;
    std::deque<std::unique_ptr<Slot>> posted;  // in order of posting
    std::deque<std::unique_ptr<Slot>> aside;
    std::unique_ptr<Slot> taken;  // holds the last returned message
    unsigned idle_calls = 0;
    std::uint64_t failed = 0;

    void post(std::unique_ptr<Slot> slot) {
        const int code = MPI_Irecv(slot->bytes.data(), static_cast<int>(kFragmentBytes), MPI_BYTE,
                                   MPI_ANY_SOURCE, kFragmentTag, comm, &slot->request);
        if (code == MPI_SUCCESS) {
            posted.push_back(std::move(slot));
        } else {
            ++failed;
        }
    }

    std::optional<Message> test(std::deque<std::unique_ptr<Slot>>& queue, std::size_t place) {
        int done = 0;
        MPI_Status status;
        const int code = MPI_Test(&queue[place]->request, &done, &status);
        if (code == MPI_SUCCESS && !done) return std::nullopt;
        if (taken) post(std::move(taken));
        taken = std::move(queue[place]);
        queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(place));
        if (code != MPI_SUCCESS) {
            ++failed;
            return std::nullopt;
        }
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        return Message{status.MPI_SOURCE, {taken->bytes.data(), static_cast<std::size_t>(bytes)}};
    }

    // The head is incomplete. Is one that was posted later complete?
    std::optional<Message> look_behind() {
        for (std::size_t i = 0; i < aside.size(); ++i) {
            if (auto message = test(aside, i)) return message;
        }
        if (posted.size() < 2) return std::nullopt;
        auto message = test(posted, 1);
        if (message) {
            aside.push_back(std::move(posted.front()));
            posted.pop_front();
            post(std::make_unique<Slot>());
        }
        return message;
    }
};

MpiReceiver::MpiReceiver(int communicator, std::size_t depth) : ring_(std::make_unique<Ring>()) {
    ring_->comm = MPI_Comm_f2c(communicator);
    for (std::size_t i = 0; i < depth; ++i) ring_->post(std::make_unique<Slot>());
}

MpiReceiver::~MpiReceiver() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    for (auto* queue : {&ring_->posted, &ring_->aside}) {
        for (auto& slot : *queue) {
            int over = finalized;  // after MPI_Finalize nobody writes any more
            if (!finalized && MPI_Cancel(&slot->request) == MPI_SUCCESS) {
                MPI_Test(&slot->request, &over, MPI_STATUS_IGNORE);
            }
            if (over) continue;
            // The library keeps the address of a message in flight.
            [[maybe_unused]] Slot* left_behind = slot.release();
        }
    }
}

std::optional<MpiReceiver::Message> MpiReceiver::next() {
    Ring& ring = *ring_;
    if (ring.posted.empty()) return std::nullopt;
    auto message = ring.test(ring.posted, 0);
    if (message) {
        ring.idle_calls = 0;
        return message;
    }
    if (++ring.idle_calls % kCallsPerLookBehind != 0) return std::nullopt;
    return ring.look_behind();
}

std::uint64_t MpiReceiver::failed() const {
    return ring_->failed;
}

}  // namespace wq::ranks::mpi
