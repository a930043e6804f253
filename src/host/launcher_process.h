// The launcher process: one loop that waits for the rank, for the ends of tasks and for the clock.
#pragma once

#include "host/launcher_wire.h"
#include "host/poller.h"
#include "host/report_buffer.h"
#include "host/scratch_folder.h"
#include "host/shared_page.h"
#include "host/task_runner.h"

namespace wq::host {

class LauncherProcess {
  public:
    // `rank`: the socket to the rank; `lifeline`: hangs up when the zygote dies; `stream`: what follows the
    // options.
    LauncherProcess(int rank, int lifeline, SharedPage& shared, const FunctionTable* functions,
                    const LauncherOptions& options, char** inherited, MessageStream stream);

    // Until the rank says close, or it or the zygote is gone. Then no process that was started is left.
    void run();

  private:
    int milliseconds_to_wait(Instant now) const;
    void handle(Source source, std::uint32_t events, std::size_t number);
    void receive();
    void take_messages();
    void take(Command& command);
    void enter(const std::string& directory);
    void report();
    void flush();

    int rank_;
    Descriptor home_;  // the folder where it began
    Descriptor signals_;
    Poller poller_;
    ReportBuffer reports_;
    TaskRunner runner_;
    MessageStream stream_;
    Instant now_;
    bool children_ended_ = false;
    bool waits_for_room_ = false;  // the rank's socket is full
    bool over_ = false;
};

// What a forked child of the zygote does: waits for the options, runs, removes `scratch`. Never returns.
[[noreturn]] void launcher_main(int rank, int lifeline, SharedPage& shared, const FunctionTable* functions,
                                ScratchFolder scratch);

}  // namespace wq::host
