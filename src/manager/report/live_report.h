// What others can read about a live run: RUN_DIR/status, and answers to `--why`. The files are written and
// looked for in the background, so that the run goes on while their file system hangs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/background.h"
#include "engine/model/events.h"
#include "manager/report/why_questions.h"
#include "records/journal/run_status.h"

namespace wq::manager::report {

class LiveReport {
  public:
    struct Content {
        std::function<records::journal::RunStatus()> status;
        std::function<std::string(std::uint64_t line, engine::model::Now now)> why;
    };
    // Callbacks of background jobs are dropped after its destruction.
    LiveReport(Background& background, std::string run_directory, Content content, Instant started);

    void tick(engine::model::Now now);  // starts due jobs, unless the last one is still running
    Instant wakeup() const;

  private:
    void write_status();
    void look_for_questions(engine::model::Now now);
    void answer(const std::vector<Question>& questions, engine::model::Now now);

    Background& background_;
    const std::string run_directory_;
    const Content content_;
    Instant next_status_;
    Instant next_look_;
    bool writing_ = false;
    bool looking_ = false;
};

}  // namespace wq::manager::report
