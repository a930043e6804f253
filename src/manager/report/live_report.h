// What others can read about a live run: RUN_DIR/status, and answers to `--why`. The files are written and
// looked for in the background, so that the run goes on while their file system hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/background.h"
#include "base/result.h"
#include "engine/model/events.h"
#include "manager/manager.h"
#include "manager/task_table.h"
#include "records/journal/run_status.h"

namespace wq::manager::report {

// `--why LINE` asks the manager of a live run through files, because the two may share only a file system.
// The question is RUN_DIR/why/NAME.ask with the line number. Once a second the manager looks for questions,
// writes NAME.answer and removes the question.

// Why a task never runs, if that is not known exactly.
inline constexpr const char* some_skip = "a predecessor failed, or no worker is large enough";

// The manager's side: why the task of that line does not run, or where it runs.
std::string why_line(const manager::Manager& manager, const manager::TaskTable& tasks, bool input_ended,
                     std::uint64_t line, engine::model::Now now);
struct WhyQuestion {
    std::uint64_t line = 0;
    std::string answer_path;
};
// Removes and returns the questions, and removes files that nobody waits for any more.
std::vector<WhyQuestion> take_questions(const std::string& run_directory, engine::model::Now now);
void write_answer(const WhyQuestion& question, const std::string& text);

// The asking side. The answer begins with `?` if there is no such task. `goes_on`: whether the run is live,
// as far as is known. Errors: not_allowed (the directory cannot be written to), unreachable (no answer in
// time, or the run is over).
Result<std::string> ask_why(
    const std::string& run_directory, std::uint64_t line, Duration timeout,
    const std::function<bool()>& goes_on = [] { return true; });

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
    void answer(const std::vector<WhyQuestion>& questions, engine::model::Now now);

    Background& background_;
    const std::string run_directory_;
    const Content content_;
    Instant next_status_;
    Instant next_look_;
    bool writing_ = false;
    bool looking_ = false;
};

}  // namespace wq::manager::report
