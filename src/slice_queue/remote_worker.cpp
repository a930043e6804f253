#include "slice_queue/remote_worker.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

#include "api/setup_error.h"
#include "base/random_bits.h"
#include "feed/lines.h"
#include "mpi/segment.h"
#include "net/backoff.h"
#include "net/contact.h"
#include "records/run_status.h"
#include "slice_queue/record_requests.h"
#include "slice_queue/remote_records.h"

namespace wq::slice_queue {

namespace {

constexpr Duration least_wait = std::chrono::milliseconds(50);
constexpr Duration longest_wait = std::chrono::seconds(5);

// Tickets of its own: a worker shares none.
struct OwnTickets {
    static constexpr tickets::PoolShape shape{1, 0};
    std::unique_ptr<mpi::Segment> segment =
        mpi::make_private_segment(tickets::TicketPool::bytes_needed(shape));
    std::unique_ptr<tickets::TicketPool> pool;
    OwnTickets() {
        tickets::TicketPool::format(segment->data(), shape);
        pool = std::make_unique<tickets::TicketPool>(segment->data(), shape, 0);
    }
};

class RemoteWorker final : public Member {
  public:
    RemoteWorker(std::unique_ptr<Pass> pass, OwnTickets tickets, std::unique_ptr<feed::TakerLine> line)
        : pass_(std::move(pass)),
          tickets_(std::move(tickets)),
          line_(std::move(line)),
          records_(line_->questions()) {}
    const Pass& pass() const override { return *pass_; }
    RecordSource& records() override { return records_; }
    feed::Taker& taker() override { return line_->taker(); }

  private:
    std::unique_ptr<Pass> pass_;
    OwnTickets tickets_;
    std::unique_ptr<feed::TakerLine> line_;
    RemoteRecords records_;
};

feed::TakerOptions options_of_worker() {
    feed::TakerOptions options;
    options.node = "worker " + records::host_name() + " " + std::to_string(::getpid()) + " " +
                   std::to_string(random_bits());
    options.rank = feed::no_rank;
    options.clock = [] { return wall_now(); };
    return options;
}

Result<std::unique_ptr<feed::TakerLine>> connect(const std::string& contact_file, OwnTickets& tickets) {
    const auto contact = net::read_contact(contact_file);
    if (!contact) return contact.error();
    auto dial = net::dial_options(*contact);
    dial.limits = feed::taker_limits();
    auto line = feed::TakerLine::open(std::move(dial), *tickets.pool, options_of_worker());
    if (line && !(*line)->taker().join())
        return Error{ExitCode::unreachable, "cannot reach the queue of " + contact_file + ": " +
                                                (*line)->taker().failure().value_or("")};
    return line;
}

// The queue may begin later than its workers, or its file may be of an earlier one.
std::unique_ptr<feed::TakerLine> connect_in_time(const SliceWorkerOptions& options, OwnTickets& tickets) {
    net::Backoff backoff(least_wait, longest_wait, random_bits());
    const Instant until =
        instant_now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.wait));
    for (;;) {
        auto line = connect(options.contact, tickets);
        if (line) return std::move(*line);
        const Duration pause = backoff.next();
        if (line.error().code != ExitCode::unreachable || instant_now() + pause >= until)
            throw api::setup_error(line.error());
        ::poll(nullptr, 0,
               static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()));
    }
}

}  // namespace

std::unique_ptr<Member> open_as_worker(const SliceWorkerOptions& options) {
    if (!(options.wait >= 0 && options.wait <= 1e9))
        throw SetupError("a worker waits 0 to 10^9 seconds for its queue", 64);
    OwnTickets tickets;
    auto line = connect_in_time(options, tickets);
    const auto questions = line->questions();
    const auto answer = api::checked(questions->answer_to(questions->ask(encode(AskPass{}))));
    auto pass = api::checked(Pass::from_bytes(api::checked(pass_of(answer))));
    return std::make_unique<RemoteWorker>(std::move(pass), std::move(tickets), std::move(line));
}

}  // namespace wq::slice_queue
