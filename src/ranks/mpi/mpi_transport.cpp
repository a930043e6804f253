#include "ranks/mpi/mpi_transport.h"

#include <algorithm>

#include <mpi.h>

#include "ranks/mpi/fragments.h"
#include "ranks/mpi/mpi_frames.h"
#include "ranks/mpi/process_watch.h"

namespace wq::ranks::mpi {

namespace {

// One round of MPI progress receives only part of what lies in shared memory: without this, a rank that sent
// its last frames and exited was reported as Left before them in 17 of 60 runs.
constexpr int kRoundsToDrain = 32;

std::string processor_name() {
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return {name, static_cast<std::size_t>(length)};
}

struct Rank {
    std::string processor;
    FrameAssembler assembler;
    bool open = true;
    bool close_by = false;
    std::int64_t fragments_received = 0;
};

// A message that arrives after MPI_Comm_free could reach the next communicator, which has the same number, so
// only a settled one is freed.
struct Communicator {
    MPI_Comm comm = MPI_COMM_NULL;
    bool is_settled = false;

    explicit Communicator(MPI_Comm taken) : comm(taken) {}
    ~Communicator() {
        if (is_settled) MPI_Comm_free(&comm);
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
};

constexpr std::int64_t kCannotSay = -1;

// At the end of a communicator's use, tells all ranks how much each has sent to each: by a non-blocking
// collective (MPI_Ialltoall).
class MpiSettlement {
  public:
    // Collective. `sent`: what this rank sent, by rank. `well` is false if this rank does not know, or has
    // lost another.
    MpiSettlement(MPI_Comm communicator, std::vector<std::int64_t> sent, bool well);
    ~MpiSettlement();
    MpiSettlement(const MpiSettlement&) = delete;
    MpiSettlement& operator=(const MpiSettlement&) = delete;

    // Gives MPI one round of progress. The functions below are valid once it returns true.
    bool all_reported();
    bool all_well() const;
    std::int64_t sent_by(std::size_t rank) const;  // to this rank

  private:
    struct Exchange;
    std::unique_ptr<Exchange> exchange_;
};

struct MpiSettlement::Exchange {
    std::vector<std::int64_t> sent;
    std::vector<std::int64_t> received;
    MPI_Request request = MPI_REQUEST_NULL;
};

MpiSettlement::MpiSettlement(MPI_Comm communicator, std::vector<std::int64_t> sent, bool well)
    : exchange_(std::make_unique<Exchange>()) {
    if (!well) std::fill(sent.begin(), sent.end(), kCannotSay);
    exchange_->received.resize(sent.size(), kCannotSay);
    exchange_->sent = std::move(sent);
    MPI_Ialltoall(exchange_->sent.data(), 1, MPI_INT64_T, exchange_->received.data(), 1, MPI_INT64_T,
                  communicator, &exchange_->request);
}

MpiSettlement::~MpiSettlement() {
    if (exchange_->request == MPI_REQUEST_NULL) return;
    // MPI keeps the addresses of an exchange in progress.
    [[maybe_unused]] Exchange* left_behind = exchange_.release();
}

bool MpiSettlement::all_reported() {
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

class Ranks final : public MpiTransport {
  public:
    Ranks(MpiSession& session, MPI_Comm comm, const MpiTransportOptions& options,
          const std::vector<std::string>& processors)
        : session_(session),
          communicator_(comm),
          receiver_(MPI_Comm_c2f(comm), options.receives),
          sender_(MPI_Comm_c2f(comm), session.size(), options.most_outstanding) {
        for (const std::string& processor : processors) ranks_.push_back({processor, {}, true});
        ranks_[static_cast<std::size_t>(session.rank())].open = false;
        for (const int mate : session.node_mates()) rank(mate).close_by = true;
    }

    // Collective.
    Status watch_node_mates() {
        const Status watched = session_.watch_node(watch_);
        counts_.watched = watch_.watched();
        return watched;
    }

    void send(net::frames::PeerId peer, std::string frame) override {
        if (!is_open(peer)) return;
        sender_.send(static_cast<int>(peer.value()), std::move(frame));
    }

    bool poll(std::vector<net::frames::Arrival>& inbox) override {
        const std::size_t before = inbox.size();
        if (!delivered_joined_) deliver_joined(inbox);
        // Checked before receiving: frames that a rank sent before it died then still come before its Left.
        const std::vector<std::uint32_t> ended = watch_.ended();
        bool moved = receive_all(inbox);
        if (!ended.empty()) {
            for (int round = 0; round < kRoundsToDrain; ++round) moved = receive_all(inbox) || moved;
        }
        for (const std::uint32_t mate : ended)
            leave(net::frames::PeerId(mate), "was killed or has ended", inbox);
        moved = sender_.advance() || moved;
        return moved || inbox.size() != before;
    }

    void close(net::frames::PeerId peer) override {
        if (!is_open(peer)) return;
        ranks_[peer.value()].open = false;
        ranks_[peer.value()].assembler = FrameAssembler();
        watch_.remove(peer.value());
        sender_.give_up(static_cast<int>(peer.value()));
    }

    bool idle() const override { return sender_.idle(); }

    std::vector<int> descriptors() const override {
        if (counts_.watched == 0) return {};
        return {watch_.descriptor()};
    }
    bool wants_asking() const override { return true; }

    void settle(bool well) override { settles_well_ = well; }

    std::optional<bool> settled() override {
        receive_all(ignored_);
        ignored_.clear();
        sender_.advance();
        if (sender_.abandoned() + sender_.failed() + receiver_.failed() > 0) settles_well_ = false;
        if (!settlement_) {
            // A frame that another rank waits for, such as its dismissal, may still be queued; only
            // afterwards are the counts final.
            if (settles_well_ && !sender_.idle()) return std::nullopt;
            settlement_ = std::make_unique<MpiSettlement>(communicator_.comm, sender_.fragments_by_rank(),
                                                          settles_well_);
        }
        if (!settlement_->all_reported()) return std::nullopt;
        if (!settlement_->all_well() || !settles_well_) return false;
        if (!sender_.idle() || !all_received()) return std::nullopt;
        communicator_.is_settled = true;
        return true;
    }

    MpiTransportCounts counts() const override {
        MpiTransportCounts counts = counts_;
        counts.errors = receiver_.failed() + sender_.failed();
        return counts;
    }

  private:
    Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
    bool is_open(net::frames::PeerId peer) const {
        return peer.value() < ranks_.size() && ranks_[peer.value()].open;
    }

    void deliver_joined(std::vector<net::frames::Arrival>& inbox) {
        delivered_joined_ = true;
        for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
            if (!ranks_[i].open) continue;
            inbox.push_back(net::frames::Joined{net::frames::PeerId(i),
                                                ranks_[i].processor + ":rank " + std::to_string(i)});
        }
    }

    bool receive_all(std::vector<net::frames::Arrival>& inbox) {
        bool moved = false;
        while (const auto message = receiver_.next()) {
            moved = true;
            Rank& from = rank(message->source);
            ++from.fragments_received;
            if (!from.open) continue;
            const net::frames::PeerId peer(static_cast<std::uint32_t>(message->source));
            frames_.clear();
            const bool sound = from.assembler.take(message->bytes, frames_);
            for (std::string& frame : frames_)
                inbox.push_back(net::frames::Frame{peer, std::move(frame), from.close_by});
            if (!sound) leave(peer, "sent bytes that are not a frame", inbox);
        }
        return moved;
    }

    bool all_received() const {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (ranks_[rank].fragments_received < settlement_->sent_by(rank)) return false;
        }
        return true;
    }

    void leave(net::frames::PeerId peer, const std::string& what, std::vector<net::frames::Arrival>& inbox) {
        if (!is_open(peer)) return;
        close(peer);
        session_.note_lost_rank();
        inbox.push_back(net::frames::Left{peer, "rank " + std::to_string(peer.value()) + " " + what});
    }

    MpiSession& session_;
    std::vector<Rank> ranks_;
    Communicator communicator_;  // outlives its users
    MpiReceiver receiver_;
    MpiSender sender_;
    ProcessWatch watch_;
    std::unique_ptr<MpiSettlement> settlement_;
    bool settles_well_ = false;
    std::vector<std::string> frames_;
    std::vector<net::frames::Arrival> ignored_;
    bool delivered_joined_ = false;
    MpiTransportCounts counts_;
};

}  // namespace

Result<std::unique_ptr<MpiTransport>> MpiTransport::open(MpiSession& session,
                                                         const MpiTransportOptions& options) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (const int code = MPI_Comm_dup(MPI_Comm_f2c(session.world_handle()), &comm); code != MPI_SUCCESS) {
        return mpi_error("MPI_Comm_dup", code);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    auto processors = session.gather_world(processor_name());
    if (!processors) return processors.error();
    auto ranks = std::make_unique<Ranks>(session, comm, options, *processors);
    if (const Status watched = ranks->watch_node_mates(); !watched) return watched.error();
    return std::unique_ptr<MpiTransport>(std::move(ranks));
}

}  // namespace wq::ranks::mpi
