// One coprocess: its process, from its start to its end, and one call of its functions at a time. It never
// waits for the coprocess: the owner polls its descriptors and calls run_turn().
//
// The process is the child of a command host (node/process/command_host.h), which ends it with all that it
// has started when this object ends it, or when this program is gone.
#pragma once

#include <poll.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "functions/coprocess/call_link.h"
#include "functions/coprocess/leftovers.h"
#include "functions/coprocess/message.h"
#include "functions/coprocess/share.h"
#include "node/launcher/launcher.h"
#include "node/process/command_host.h"
#include "node/process/scratch.h"

namespace wq::functions::coprocess {

struct CoprocessOptions {
    std::string file;                      // absolute path
    std::string folder;                    // where its working directory is made, anew for each start
    std::vector<std::string> environment;  // "NAME=value"
    engine::model::Resources share;
    // Forks the host of its process (node/process/command_host.h); empty: this program is executed as the
    // host.
    std::function<Status(int socket)> fork{};
    Duration greeting_limit = std::chrono::seconds(60);
    Duration kill_limit = std::chrono::seconds(5);  // for a coprocess to end the process of a `fork`
};

// How often its usage is sampled.
inline constexpr Duration look_while_busy = std::chrono::milliseconds(500);
inline constexpr Duration look_while_idle = std::chrono::seconds(5);

class Coprocess {
  public:
    enum class State {
        down,      // it does not run
        greeting,  // it has not named itself yet
        idle,
        busy,      // with a call
        clearing,  // the call was ended; the coprocess has to kill its process
        tidying,   // the call has ended; its folder is removed
        ending     // its host ends all its processes
    };
    static constexpr std::size_t descriptor_count = 3;
    using Polled = std::array<pollfd, descriptor_count>;

    explicit Coprocess(CoprocessOptions options);
    ~Coprocess();  // waits until all its processes have ended
    Coprocess(const Coprocess&) = delete;

    State state() const { return state_; }
    const std::string& name() const { return greeting_.name; }
    // Why it is down, one line; empty: it was never started.
    const std::string& why_down() const { return why_down_; }
    // Since it was started last: whether it has taken a call. Without one, its end is its own failure.
    bool has_worked() const { return has_worked_; }

    void start(Instant now);  // it is down
    void call(RemoteOrder order, Instant now);
    // Until its end is taken.
    const RemoteOrder* running() const { return order_ ? &*order_ : nullptr; }
    // Ends the running call: `killed` or `timed_out`. The report comes when its processes have ended.
    void end_call(engine::model::Ending ending, const std::string& reason, Instant now);
    void drop_call(Instant now);  // the same, without a report
    // Begins to end it, with all that it has started; then it is down.
    void end(std::string why);

    // Those not in use are -1, as poll() ignores them.
    Polled descriptors() const;
    void run_turn(const Polled& polled, Instant now);
    std::optional<Instant> wakeup() const;
    // The end of its call, once.
    std::optional<node::launcher::TaskEnded> take_ended();

  private:
    void launch(Instant now);
    void begin_call(Instant now);
    void greet(Instant now);
    void look_at_link(Instant now);
    void process_ended(Instant now);
    void drain_output();
    void watch(Instant now);
    void check_times(Instant now);
    void finish(engine::model::Ending ending, const std::string& reason, Instant now);
    engine::model::Outcome outcome_at(Instant now) const;
    void conclude(engine::model::Outcome outcome, std::string output);
    void become_idle();
    void tidy();
    void give_report();
    void finish_end();
    void fail(engine::model::Ending ending, const std::string& why, Instant now);

    CoprocessOptions options_;
    node::process::CommandHost host_;
    node::process::ScratchFolder folder_;
    std::optional<ShareWatch> share_watch_;
    State state_ = State::down;
    std::string why_down_;
    std::string python_;  // that runs its file; empty: the file is executed itself
    bool has_worked_ = false;
    std::string secret_;
    Descriptor output_;  // its stdout
    LengthReader first_output_{64u << 10};
    Greeting greeting_;
    std::optional<Instant> until_;      // of the state
    std::optional<Instant> next_look_;  // at its usage
    CallOrphans orphans_;

    std::optional<RemoteOrder> order_;
    Instant called_;
    WallMicros called_us_ = 0;
    CallLink link_;
    bool link_lost_ = false;  // the link ended before an answer: its process may end, too
    std::optional<node::launcher::TaskEnded> concluded_;  // of order_; reported when its processes have ended
    bool is_dropped_ = false;                             // order_ gets no report
    std::optional<node::launcher::TaskEnded> ended_;
};

}  // namespace wq::functions::coprocess
