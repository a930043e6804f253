#include "slices/queue/remote_worker.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/setup_error.h"
#include "base/random_bits.h"
#include "base/units.h"
#include "net/frames/backoff.h"
#include "net/frames/contact.h"
#include "records/journal/run_status.h"
#include "slices/claims/line_threads.h"
#include "slices/queue/ranks.h"
#include "slices/queue/record_requests.h"
#include "slices/queue/remote_records.h"
#include "slices/queue/say.h"

namespace wq::slices::queue {

namespace {

constexpr Duration least_wait = std::chrono::milliseconds(50);
constexpr Duration longest_wait = std::chrono::seconds(5);
constexpr Duration least_time = std::chrono::seconds(5);  // for one try

class RemoteWorker final : public Member {
  public:
    RemoteWorker(std::unique_ptr<Pass> pass, manager::run::NodeTickets tickets,
                 std::unique_ptr<claims::TakerLine> line, RemoteRecords::Say say)
        : pass_(std::move(pass)),
          tickets_(std::move(tickets)),
          line_(std::move(line)),
          records_(line_->questions(), std::move(say)) {}
    const Pass& pass() const override { return *pass_; }
    RecordSource& records() override { return records_; }
    claims::Taker& taker() override { return line_->taker(); }

  private:
    std::unique_ptr<Pass> pass_;
    manager::run::NodeTickets tickets_;
    std::unique_ptr<claims::TakerLine> line_;
    RemoteRecords records_;
};

std::string name_of_worker() {
    return "worker " + records::journal::host_name() + " " + std::to_string(::getpid()) + " " +
           std::to_string(random_bits());
}

claims::TakerOptions options_of_worker(const std::string& node, bool waits) {
    claims::TakerOptions options;
    options.node = node;
    options.rank = claims::no_rank;
    options.wait_for_others = waits;
    options.clock = [] { return wall_now(); };
    return options;
}

// A worker before it knows what to take.
struct Connected {
    std::unique_ptr<claims::TakerLine> line;
    std::unique_ptr<Pass> pass;
};

Result<Connected> connect(const SliceWorkerOptions& options, manager::run::NodeTickets& tickets,
                          Instant until) {
    const std::string& contact_file = options.contact;
    const auto contact = net::frames::read_contact(contact_file);
    if (!contact) return contact.error();
    auto dial = net::frames::dial_options(*contact);
    dial.limits = claims::taker_limits();
    auto line = claims::TakerLine::open(std::move(dial), *tickets.pool,
                                        options_of_worker(tickets.name, options.wait_for_others));
    if (!line) return line.error();
    if (const Status joined = (*line)->join(until); !joined)
        return Error{joined.error().code, "cannot reach the queue of " + contact_file + ": " +
                                              net::frames::in_one_line(joined.error().message) +
                                              " (if its run has ended, wait for the file of the next one)"};
    const auto questions = (*line)->questions();
    const auto answer = questions->answer_to(questions->ask(encode(AskPass{})), until);
    if (!answer) return answer.error();
    const auto bytes = pass_of(*answer);
    if (!bytes) return bytes.error();
    auto pass = Pass::from_bytes(*bytes);
    if (!pass) return pass.error();
    return Connected{std::move(*line), std::move(*pass)};
}

// The queue may begin later than its workers, and its file may be of an earlier one, with another key.
bool may_change(const Error& error, const std::string& contact_file) {
    if (error.code == ExitCode::unreachable) return true;
    return error.code == ExitCode::not_allowed && net::frames::read_contact(contact_file).ok();
}

Connected connect_in_time(const SliceWorkerOptions& options, manager::run::NodeTickets& tickets,
                          const Say& say) {
    net::frames::Backoff backoff(least_wait, longest_wait, random_bits());
    const Instant until =
        instant_now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.wait));
    bool has_said = false;
    for (;;) {
        // Once at least, whatever the time.
        auto connected = connect(options, tickets, std::max(until, instant_now() + least_time));
        if (connected) return std::move(*connected);
        if (!std::exchange(has_said, true) && options.wait > 0)
            say("waits up to " + format_duration(until - instant_now()) +
                " for the queue: " + connected.error().message);
        const Duration pause = backoff.next();
        if (!may_change(connected.error(), options.contact) || instant_now() + pause >= until)
            throw api::setup_error(connected.error());
        ::poll(nullptr, 0,
               static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()));
    }
}

}  // namespace

std::unique_ptr<Member> open_as_worker(const SliceWorkerOptions& options) {
    if (!(options.wait >= 0 && options.wait <= 1e9))
        throw SetupError("a worker waits 0 to 10^9 seconds for its queue", 64);
    const Say say = say_or_stderr(options.say);
    manager::run::NodeTickets tickets = own_tickets(name_of_worker());
    Connected connected = connect_in_time(options, tickets, say_as(SliceOptions().name, say));
    const std::string name = line_for_message(connected.pass->options().name);
    return std::make_unique<RemoteWorker>(std::move(connected.pass), std::move(tickets),
                                          std::move(connected.line), say_as(name, say));
}

}  // namespace wq::slices::queue
