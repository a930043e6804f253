#include "ranks/mpi/mpi_frames.h"

#include <array>
#include <deque>

#include <mpi.h>

#include "ranks/mpi/fragments.h"

namespace wq::ranks::mpi {

namespace {

using Buffer = std::array<char, kFragmentBytes>;

struct Lane {
    FrameCutter cutter;
    std::size_t outstanding = 0;
    std::int64_t fragments = 0;  // sent
    bool waiting = false;        // is in Lanes::waiting
    bool given_up = false;
};

struct Flight {
    int rank = 0;
    std::unique_ptr<Buffer> buffer;
};

}  // namespace

struct MpiSender::Lanes {
    MPI_Comm comm = MPI_COMM_NULL;
    std::size_t most_outstanding = 0;
    std::vector<Lane> lanes;
    std::vector<int> waiting;           // ranks with frames not yet passed to MPI
    std::vector<MPI_Request> requests;  // requests[i] belongs to flights[i]
    std::vector<Flight> flights;
    std::vector<int> done;
    std::vector<std::unique_ptr<Buffer>> spare;
    std::uint64_t fragments = 0;
    std::uint64_t abandoned = 0;
    std::uint64_t failed = 0;

    Lane& lane(int rank) { return lanes[static_cast<std::size_t>(rank)]; }

    std::unique_ptr<Buffer> buffer() {
        if (spare.empty()) return std::make_unique<Buffer>();
        auto last = std::move(spare.back());
        spare.pop_back();
        return last;
    }

    void launch(int rank) {
        Lane& to = lane(rank);
        while (!to.cutter.empty() && to.outstanding < most_outstanding) {
            Flight flight{rank, buffer()};
            const std::size_t bytes = to.cutter.cut(flight.buffer->data());
            MPI_Request request = MPI_REQUEST_NULL;
            const int code = MPI_Isend(flight.buffer->data(), static_cast<int>(bytes), MPI_BYTE, rank,
                                       kFragmentTag, comm, &request);
            if (code != MPI_SUCCESS) {
                // The stream to this rank has a gap now: the receiver waits for it until the sender counts as
                // lost.
                ++failed;
                continue;
            }
            ++fragments;
            ++to.fragments;
            ++to.outstanding;
            requests.push_back(request);
            flights.push_back(std::move(flight));
        }
    }

    bool reap() {
        if (requests.empty()) return false;
        done.resize(requests.size());
        int count = 0;
        const int code = MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, done.data(),
                                      MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return false;
        if (count == MPI_UNDEFINED || count == 0) return false;
        for (int i = 0; i < count; ++i) {
            Flight& flight = flights[static_cast<std::size_t>(done[static_cast<std::size_t>(i)])];
            --lane(flight.rank).outstanding;
            spare.push_back(std::move(flight.buffer));
        }
        close_ranks();
        return true;
    }

    void close_ranks() {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < flights.size(); ++i) {
            if (!flights[i].buffer) continue;
            if (kept != i) {
                flights[kept] = std::move(flights[i]);
                requests[kept] = requests[i];
            }
            ++kept;
        }
        flights.resize(kept);
        requests.resize(kept);
    }

    bool launch_waiting() {
        const std::uint64_t before = fragments;
        std::erase_if(waiting, [this](int rank) {
            Lane& to = lane(rank);
            if (!to.given_up) launch(rank);
            to.waiting = !to.given_up && !to.cutter.empty();
            return !to.waiting;
        });
        return fragments != before;
    }
};

MpiSender::MpiSender(int communicator, int ranks, std::size_t most_outstanding)
    : lanes_(std::make_unique<Lanes>()) {
    lanes_->comm = MPI_Comm_f2c(communicator);
    lanes_->most_outstanding = most_outstanding;
    lanes_->lanes.resize(static_cast<std::size_t>(ranks));
}

MpiSender::~MpiSender() {
    for (Flight& flight : lanes_->flights) {
        [[maybe_unused]] Buffer* left_behind = flight.buffer.release();
    }
}

void MpiSender::send(int rank, std::string frame) {
    Lane& to = lanes_->lane(rank);
    if (to.given_up) return;
    to.cutter.add(std::move(frame));
    if (to.outstanding == 0) lanes_->launch(rank);
    if (to.cutter.empty() || to.waiting) return;
    to.waiting = true;
    lanes_->waiting.push_back(rank);
}

bool MpiSender::advance() {
    const bool reaped = lanes_->reap();
    return lanes_->launch_waiting() || reaped;
}

void MpiSender::give_up(int rank) {
    Lane& to = lanes_->lane(rank);
    lanes_->reap();  // sent fragments are not lost
    to.given_up = true;
    to.cutter = FrameCutter();
    to.outstanding = 0;
    for (Flight& flight : lanes_->flights) {
        if (flight.rank != rank) continue;
        [[maybe_unused]] Buffer* left_behind = flight.buffer.release();
        ++lanes_->abandoned;
    }
    lanes_->close_ranks();
}

bool MpiSender::idle() const {
    return lanes_->flights.empty() && lanes_->waiting.empty();
}
std::vector<std::int64_t> MpiSender::fragments_by_rank() const {
    std::vector<std::int64_t> all;
    for (const Lane& lane : lanes_->lanes) all.push_back(lane.fragments);
    return all;
}
std::uint64_t MpiSender::abandoned() const {
    return lanes_->abandoned;
}
std::uint64_t MpiSender::failed() const {
    return lanes_->failed;
}

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
