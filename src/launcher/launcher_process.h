// The launcher process: one loop that waits for the rank, for the ends of tasks and for the clock.
#pragma once

#include "launcher/launcher_wire.h"
#include "launcher/report_buffer.h"
#include "launcher/shared_page.h"
#include "launcher/task_runner.h"
#include "process/poller.h"
#include "process/scratch_folder.h"

namespace wq::launcher {

class LauncherProcess {
  public:
    // `rank`: the socket to the rank; `lifeline`: hangs up when the zygote dies; `stream`: the messages after
    // the options.
    LauncherProcess(int rank, int lifeline, SharedPage& shared, const process::FunctionTable* functions,
                    const LauncherOptions& options, char** inherited, MessageStream stream);

    // Returns when the rank says close, or the rank or the zygote is gone. No process that it started is left
    // then.
    void run();

  private:
    int milliseconds_to_wait(Instant now) const;
    void handle(process::Source source, std::uint32_t events, std::size_t number);
    void receive();
    void take_messages();
    void take(Command& command);
    void enter(const std::string& directory);
    void report();
    void flush();

    int rank_;
    Descriptor home_;  // the folder where it started
    Descriptor signals_;
    process::Poller poller_;
    ReportBuffer reports_;
    TaskRunner runner_;
    MessageStream stream_;
    Instant now_;
    bool children_ended_ = false;
    bool waits_for_room_ = false;  // the rank's socket is full
    bool over_ = false;
};

// The main function of the zygote's child: waits for the options, runs, removes `scratch`.
[[noreturn]] void launcher_main(int rank, int lifeline, SharedPage& shared,
                                const process::FunctionTable* functions, process::ScratchFolder scratch);

}  // namespace wq::launcher
