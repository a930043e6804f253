// `--why LINE` asks the manager of a run that goes on by files, since all that the two share may be a file
// system: RUN_DIR/why/NAME.ask with the line's number; the manager looks once a second, answers in
// NAME.answer and removes the question.
#pragma once

#include <string>

#include "app/manager.h"
#include "app/task_table.h"
#include "base/result.h"

namespace wq::cli {

inline constexpr Duration between_looks_at_questions = std::chrono::seconds(1);

// Why the task of that line does not run, or where it does; the manager's half.
std::string why_line(const app::Manager& manager, const app::TaskTable& tasks, bool input_ended,
                     std::uint64_t line, core::Now now);
void answer_questions(const std::string& run_directory, const app::Manager& manager,
                      const app::TaskTable& tasks, bool input_ended, core::Now now);

// The other half. Begins with `?` where there is no such task. Errors: not_allowed (the directory cannot be
// written to), unreachable (no answer in time).
Result<std::string> ask_why(const std::string& run_directory, std::uint64_t line,
                            Duration patience = std::chrono::seconds(20));

}  // namespace wq::cli
