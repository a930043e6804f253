// What others can read about a live run: RUN_DIR/status, and answers to `--why`. The files are written and
// looked for in the background, so that the run goes on while their file system hangs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model/events.h"
#include "records/journal/run_status.h"
#include "manager/report/why_questions.h"
#include "base/background.h"

namespace wq::report {

class LiveReport {
  public:
    struct Content {
        std::function<records::RunStatus()> status;
        std::function<std::string(std::uint64_t line, core::Now now)> why;
    };
    // Callbacks of background jobs are dropped after its destruction.
    LiveReport(Background& background, std::string run_directory, Content content, Instant started);

    void tick(core::Now now);  // starts due jobs, unless the last one is still running
    Instant wakeup() const;

  private:
    void write_status();
    void look_for_questions(core::Now now);
    void answer(const std::vector<Question>& questions, core::Now now);

    Background& background_;
    const std::string run_directory_;
    const Content content_;
    Instant next_status_;
    Instant next_look_;
    bool writing_ = false;
    bool looking_ = false;
};

}  // namespace wq::report
