// Threads that move messages between takers and the giver, while consumers compute.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "net/frames/loopback.h"
#include "net/frames/tcp_dialer.h"
#include "net/frames/tcp_listener.h"
#include "slices/claims/giver.h"
#include "slices/claims/questions.h"
#include "slices/claims/taker.h"

namespace wq::slices::claims {

// For both ends: a rank is lost after 10 s of silence. It must have said its name before it may send more
// than a name.
net::frames::TcpLimits feed_limits();
// For a taker: it misses the giver a second before the giver misses it at the earliest, so what it does has
// ended when others do it again. (Each counts from what it heard last, up to a beat before the connection
// broke. A process that is held up itself notices later.)
net::frames::TcpLimits taker_limits();

// A rank, or a worker elsewhere. Its connection ends with it, after what is committed was told.
class TakerLine {
  public:
    // Connects in the background; `pool` must outlive it. Error: as of TcpDialer::open().
    static Result<std::unique_ptr<TakerLine>> open(net::frames::TcpDialOptions giver,
                                                   ranks::tickets::TicketPool& pool, TakerOptions options);
    ~TakerLine();
    Taker& taker() { return taker_; }
    // Waits until the giver knows us. Error unreachable, also when `until` is over; not_allowed: the giver
    // refuses us.
    Status join(std::optional<Instant> until = {});
    // Ask only after Taker::join(). May outlive the line: it has no answers then.
    std::shared_ptr<Questions> questions() { return questions_; }

  private:
    TakerLine(std::unique_ptr<net::frames::TcpDialer> line, ranks::tickets::TicketPool& pool,
              TakerOptions options);
    void run();
    void move_until_over();

    void on(const net::frames::Arrival& arrival);

    Wake wake_;
    std::atomic<ExitCode> failed_as_ = ExitCode::unreachable;
    Taker taker_;
    std::shared_ptr<Questions> questions_;
    std::unique_ptr<net::frames::TcpDialer> line_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

// What the giver's process does for takers besides. Called on the line's thread, which it must not hold up:
// it answers later (GiverLine::answer()).
class Service {
  public:
    virtual ~Service() = default;
    virtual void ask(const Address& taker, Question question) = 0;
    virtual void gone(const Address& taker) = 0;
};

struct GiverLineOptions {
    std::unique_ptr<net::frames::TcpListener> others;  // null: there are none
    plan::PassLedger ledger;
    std::uint64_t epoch = 1;  // as of Giver
    std::uint32_t ranks = 1;
    // Receives each commit that counts, if its taker tells times; on the line's thread, as Service.
    std::function<void(std::uint32_t rank, const Timed&)> record{};
    Service* service = nullptr;  // must outlive the line
    // Called when one is lost, if the end waits for others for long, and if counters fail. On the line's
    // thread.
    std::function<void(const std::string&)> say = [](const std::string&) {};
};

// The process that has the giver, and takes, too.
class GiverLine {
  public:
    // `pool` must outlive it.
    GiverLine(GiverLineOptions giver, ranks::tickets::TicketPool& pool, TakerOptions taker);
    ~GiverLine() { close(); }
    // Nobody takes any more here. Waits until all others have left: they cannot go on without it.
    void close();
    // Nobody takes any more anywhere: all others lose it.
    void abandon();
    Taker& taker() { return taker_; }
    // From now on the line's thread calls these, which must outlive it, for takers that draw through them.
    void use(ranks::tickets::Counters& counters);

    std::uint64_t takers() const;  // that are here
    GiverReport report() const;
    IntervalSet failed() const;  // of what is committed
    // Also what takers had committed when it was called, and have not reported yet. Waits for their answers;
    // a lost one's are missed after `silence` (feed_limits()).
    IntervalSet committed_by_all();
    // On any thread. Nothing happens if the taker has gone.
    void answer(const Address& taker, GiverAnswer answer);

  private:
    static constexpr net::frames::PeerId giver_id{0};
    static constexpr net::frames::PeerId own_id{1};
    void run();
    void move_until_over();
    bool move(Instant now);  // all there is to do; false: nothing
    void ask_if_wanted();
    bool give(Instant now);
    bool send_answers();
    void serve(Instant now);  // the counters

    const std::function<void(const std::string&)> say_;
    Wake wake_;
    std::unique_ptr<net::frames::TcpListener> others_;
    net::frames::LoopbackNetwork own_;
    std::unique_ptr<net::frames::Transport> giver_end_;
    std::unique_ptr<net::frames::Transport> taker_end_;
    Taker taker_;
    mutable std::mutex mutex_;  // of giver_ and answers_
    Giver giver_;
    std::vector<std::pair<Address, GiverAnswer>> answers_;
    std::vector<std::string> unprinted_;  // the thread's
    std::uint64_t asked_ = 0;             // how often somebody called committed_by_all(),
    std::uint64_t asking_ = 0;            // which call's answers are awaited,
    std::uint64_t answered_ = 0;          // and which are there
    std::condition_variable answer_;
    ranks::tickets::Counters* new_counters_ = nullptr;  // of use()
    std::optional<Instant> serve_at_;                   // none: there are no counters
    Instant moved_{};                                   // something arrived
    Instant sent_at_{};                                 // our own commits
    bool unsent_ = false;
    std::atomic<bool> over_ = false;
    std::atomic<bool> abandoned_ = false;
    std::thread thread_;
};

}  // namespace wq::slices::claims
