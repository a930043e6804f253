// One coprocess: its process, from its start to its end, and one call of its functions at a time. It never
// waits for the coprocess: the owner polls its descriptors and calls turn().
//
// The process is the child of a command host (process/command_host.h), which ends it with all that it has
// started when this object ends it, or when this program is gone.
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
#include "coprocess/message.h"
#include "coprocess/remote_call.h"
#include "coprocess/share.h"
#include "launcher/launcher.h"
#include "process/command_host.h"
#include "process/scratch_folder.h"

namespace wq::coprocess {

struct CoprocessOptions {
    std::string file;                      // absolute path
    std::string folder;                    // where its working directory is made, anew for each start
    std::vector<std::string> environment;  // "NAME=value"
    core::Resources share;
    // Forks the host of its process (process/command_host.h); empty: this program is executed as the host.
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
        busy,     // with a call
        clearing  // the call was ended; the coprocess has to kill its process
    };
    static constexpr std::size_t descriptor_count = 3;
    using Polled = std::array<pollfd, descriptor_count>;

    explicit Coprocess(CoprocessOptions options);
    ~Coprocess();
    Coprocess(const Coprocess&) = delete;

    State state() const { return state_; }
    const std::string& name() const { return greeting_.name; }
    pid_t pid() const { return host_.command(); }
    // Why it is down, one line; empty: it was never started.
    const std::string& why_down() const { return why_down_; }
    // Since it was started last: whether it has taken a call. Without one, its end is its own failure.
    bool has_worked() const { return has_worked_; }

    void start(Instant now);  // it is down
    void call(RemoteOrder order, Instant now);
    const RemoteOrder* running() const { return order_ ? &*order_ : nullptr; }
    // Ends the running call: `killed` or `timed_out`.
    void end_call(core::Ending ending, std::string reason, Instant now);
    void stop();  // ends it with all that it has started; a running call has no report

    // Those not in use are -1, as poll() ignores them.
    Polled descriptors() const;
    void turn(const Polled& polled, Instant now);
    std::optional<Instant> wakeup() const;
    // The end of its call, once.
    std::optional<launcher::TaskEnded> take_ended();

  private:
    void greet(Instant now);
    void exchange(short events, Instant now);
    void send_more();
    void receive_more(Instant now);
    void link_ended(Instant now);
    void process_ended(Instant now);
    void drain_output();
    void watch(Instant now);
    void check_times(Instant now);
    void finish(core::Ending ending, std::string reason, Instant now);
    void finish_with_answer(Instant now);
    core::Outcome outcome_at(Instant now) const;
    void report(core::Outcome outcome, std::string output);
    void fall(std::string why);  // it is down
    void fail(core::Ending ending, const std::string& why, Instant now);
    std::optional<std::string> make_task_folder();
    void remove_task_folder();
    std::string task_folder() const;
    std::string last_words() const;

    CoprocessOptions options_;
    process::CommandHost host_;
    process::ScratchFolder folder_;
    std::optional<ShareWatch> share_watch_;
    State state_ = State::down;
    std::string why_down_;
    bool has_worked_ = false;
    std::string secret_;
    Descriptor output_;  // its stdout
    LengthReader first_output_{64u << 10};
    Greeting greeting_;
    std::optional<Instant> until_;      // of the state
    std::optional<Instant> next_look_;  // at its usage
    bool link_lost_ = false;            // the link ended before an answer: its process may end, too

    std::optional<RemoteOrder> order_;
    Instant called_;
    WallMicros called_us_ = 0;
    Descriptor link_;
    std::string to_send_;
    std::size_t sent_ = 0;
    LengthReader answer_{core::most_output_limit};
    std::optional<launcher::TaskEnded> ended_;
};

}  // namespace wq::coprocess
