// The launcher process: a loop that waits for the rank, for the ends of tasks and for the clock, and threads
// that run commands (lane.h).
#pragma once

#include <optional>

#include "node/launcher/lane.h"
#include "node/launcher/launcher_wire.h"
#include "node/launcher/shared_page.h"
#include "node/launcher/task_ends.h"
#include "node/launcher/task_runner.h"
#include "node/process/fork_server.h"
#include "node/process/poller.h"
#include "node/process/scratch.h"

namespace wq::node::launcher {

class LauncherProcess final : private Starters::Work {
  public:
    // `rank`: the socket to the rank; `lifeline`: hangs up when the zygote dies; `stream`: the messages after
    // the options.
    LauncherProcess(int rank, int lifeline, SharedPage& shared, const process::FunctionTable* functions,
                    const LauncherOptions& options, char** inherited, MessageStream stream);

    // False: no descriptors were left for it.
    bool valid() const;
    // Returns when the rank says close, the rank or the zygote is gone, or the rank seems to be stopped. No
    // process that it started is left then, and its starters do nothing more; but they exist, so this object
    // must stay until the process ends.
    void run();

  private:
    bool run_turn(Starters::Index starter, bool child_ended) override;
    void wait();
    void watch_signals();
    Instant next_wake(Instant now) const;
    void serve_source(process::PollSource source, std::uint32_t events, std::size_t number);
    void receive();
    void handle_messages();
    void take(Command& command);
    void look_for_rank();
    void enter(const std::string& directory);
    void report();
    void flush();

    int rank_;
    Descriptor home_;  // the folder where it started
    process::ChildEnds child_ends_;
    Starters starters_;
    process::Poller poller_;
    ReportBuffer reports_;
    std::optional<TaskRunner> runner_;  // until run() ends
    MessageStream stream_;
    Instant now_;
    Instant kept_until_ = Instant::max();  // when the launcher next asks whether the rank is stopped
    bool last_look_ = false;
    Instant wakes_at_{};  // when the loop wakes at the latest
    bool children_ended_ = false;
    std::optional<Instant> signals_again_at_;  // when SIGCHLD is watched again
    bool waits_for_room_ = false;              // the rank's socket is full
    bool over_ = false;
};

// The main function of the zygote's child: waits for the options, runs, removes `scratch`.
[[noreturn]] void launcher_main(int rank, int lifeline, SharedPage& shared,
                                const process::FunctionTable* functions, process::ScratchFolder scratch);

}  // namespace wq::node::launcher
