#include "manager/report/live_report.h"

#include <algorithm>
#include <utility>

namespace wq::manager::report {

namespace {
constexpr Duration between_statuses = std::chrono::seconds(3);
constexpr Duration between_looks_at_questions = std::chrono::seconds(1);
}  // namespace

LiveReport::LiveReport(Background& background, std::string run_directory, Content content, Instant started)
    : background_(background),
      run_directory_(std::move(run_directory)),
      content_(std::move(content)),
      next_status_(started + between_statuses),
      next_look_(started + between_looks_at_questions) {}

Instant LiveReport::wakeup() const {
    return std::min(next_status_, next_look_);
}

void LiveReport::tick(engine::model::Now now) {
    if (now.instant >= next_status_) {
        next_status_ = now.instant + between_statuses;
        if (!writing_) write_status();
    }
    if (now.instant >= next_look_) {
        next_look_ = now.instant + between_looks_at_questions;
        if (!looking_) look_for_questions(now);
    }
}

// If writing fails, for example on a full disk, the old status stays.
void LiveReport::write_status() {
    writing_ = true;
    background_.post([this, folder = run_directory_, status = content_.status()]() -> Background::Then {
        static_cast<void>(records::journal::write_status(folder, status));
        return [this] { writing_ = false; };
    });
}

void LiveReport::look_for_questions(engine::model::Now now) {
    looking_ = true;
    background_.post([this, folder = run_directory_, now]() -> Background::Then {
        return [this, now, questions = take_questions(folder, now)] {
            looking_ = false;
            if (!questions.empty()) answer(questions, now);
        };
    });
}

void LiveReport::answer(const std::vector<Question>& questions, engine::model::Now now) {
    std::vector<std::string> answers;
    for (const Question& question : questions) answers.push_back(content_.why(question.line, now));
    background_.post([questions, answers]() -> Background::Then {
        for (std::size_t i = 0; i < questions.size(); ++i) write_answer(questions[i], answers[i]);
        return {};
    });
}

}  // namespace wq::manager::report
