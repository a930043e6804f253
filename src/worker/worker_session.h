// A TCP worker from its start to its end. It connects to its manager, serves it, and reconnects after a
// disconnect with exponential back-off and full jitter. Meanwhile it keeps its tasks for the time that the
// manager set. It drains when it is asked to leave, or its time is over. It has no clock and no descriptor:
// the loop calls it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/frames/backoff.h"
#include "net/frames/transport.h"
#include "worker/worker.h"

namespace wq::worker {

// One attempt to reach a manager: a transport with one peer, which reports Joined or Left.
struct Call {
    std::unique_ptr<net::frames::Transport> transport;
    net::frames::PeerId manager{0};
    std::string address;                                               // of the called managers, for messages
    std::function<std::string()> name = [] { return std::string(); };  // once joined; empty: it has none
    std::function<bool()> not_allowed = [] { return false; };          // after Left: do not retry
    std::function<std::string()> local_address = [] { return std::string(); };  // once joined
    std::function<void()> welcomed = [] {};  // the manager has accepted this worker
    // Whether nothing says that this is our manager: then its refusal means nothing.
    std::function<bool()> to_anyone = [] { return false; };
    // After Left: there are managers that were called less often.
    std::function<bool()> others_left = [] { return false; };
    // Once joined: when its last bytes came, or a little before. The default knows nothing and says now.
    std::function<net::frames::Heard(Instant now)> heard = [](Instant now) {
        return net::frames::Heard{now, now};
    };
};

enum class Whom : std::uint8_t {
    any,   // whom the user named; by a name: one of those that a new search finds
    ours,  // the manager that knows us
    next,  // another one that the last search found
};

struct WorkerSessionOptions {
    Duration idle_timeout = std::chrono::minutes(15);
    Duration connect_timeout = std::chrono::minutes(15);
    Duration min_backoff = std::chrono::seconds(1);
    Duration max_backoff = std::chrono::minutes(1);
    Duration welcome_limit = std::chrono::seconds(30);  // a manager silent for this long is not one
    Duration drain_grace = std::chrono::seconds(10);    // how long running tasks may continue
    Duration last_words = std::chrono::seconds(5);      // how long answers may take to arrive
    std::optional<Instant> drain_at;                    // the batch job ends soon after
    Duration drain_at_grace{0};
    bool single_shot = false;
    bool by_name = false;                                // a lost manager may have a successor elsewhere
    std::uint64_t seed = 0;                              // for the jitter
    std::function<void(const net::frames::Note&)> note;  // on its connections; may be empty
};

class WorkerSession {
  public:
    // `call` begins a call. The error `unreachable` means that the call failed; any other error ends the
    // session: `ok` if the manager has ended for good.
    WorkerSession(WorkerSessionOptions options, Worker& worker, std::function<Result<Call>(Whom)> call,
                  std::function<void(const std::string&)> say, Instant now);

    void run_turn(Instant now);
    void stop(int signal, Instant now);  // the second signal kills running tasks at once
    // Takes no more tasks, and ends when running tasks have ended, however long that takes.
    void leave(const std::string& why, Instant now);
    void lose_link(const std::string& why, Instant now);  // for tests; connects again
    std::optional<Instant> wakeup() const;
    // Until when its tasks may run if the manager is not heard meanwhile.
    Instant keeps_tasks_until(Instant now) const;
    std::vector<int> descriptors() const;

    // A frame with a call came from a manager on this machine. True once.
    bool take_heard_close_by() { return std::exchange(heard_close_by_, false); }
    void expect_until(Instant until);

    bool over() const { return end_.has_value(); }
    ExitCode code() const { return *end_; }
    bool draining() const { return draining_; }
    // Its manager has dismissed it finally, so it must not reconnect.
    bool dismissed() const { return dismissed_; }
    net::frames::Transport* link() const { return call_ ? call_->transport.get() : nullptr; }

  private:
    enum class State { waiting, calling, greeting, serving };

    bool move_frames(Instant now);
    void pass_notes();
    void begin_call(Instant now);
    void joined(const net::frames::Joined& arrival, Instant now);
    void link_lost(const std::string& why, Instant now);
    void hang_up(Instant now);
    std::string what_is_kept(Instant now) const;  // "" or a part of a line
    void call_later(Instant now);
    void call_next(bool others_left, Instant now);
    void print_not_reached();
    void manager_said_no(Instant now);
    void manager_is_done(Instant now);
    void check_silence(Instant now);
    void check_times(Instant now);
    void give_manager_up(const std::string& why, Instant now);
    void drain(std::optional<Duration> grace, Instant now, Worker::Because why = Worker::Because::asked);
    void end(ExitCode code);

    WorkerSessionOptions options_;
    Worker& worker_;
    std::function<Result<Call>(Whom)> make_call_;
    std::function<void(const std::string&)> say_;
    net::frames::Backoff backoff_;  // for consecutive failed calls

    State state_ = State::waiting;
    std::optional<Call> call_;
    Instant state_until_;  // waiting: when to call; greeting: welcome limit
    std::string last_failure_;
    bool printed_not_reached_ = false;
    Whom whom_ = Whom::any;  // the next call is for, or the last one was
    int calls_at_once_ = 0;  // since the last pause
    // Set while disconnected: when the manager was last heard. It waits for us, at most for the grace period
    // from then.
    std::optional<Instant> disconnected_since_;
    bool refused_reconnecting_ = false;   // by the last call
    std::optional<Instant> silent_from_;  // serving: when to look whether its link is dead
    Instant alone_since_;                 // without a manager
    Instant idle_since_;                  // without a task
    bool served_ = false;                 // a manager has finished with us
    bool draining_ = false;
    bool stopped_ = false;             // by a signal
    std::optional<Instant> kill_at_;   // draining
    std::optional<Instant> leave_at_;  // draining: ends then even if answers have not arrived
    bool dismissed_ = false;
    bool heard_close_by_ = false;
    std::optional<ExitCode> end_;
};

}  // namespace wq::worker
