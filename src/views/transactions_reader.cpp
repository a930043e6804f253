#include "views/transactions_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "views/model/transactions_parser.h"

namespace wq::views {

namespace {

// The words of a result, for people.
std::string outcome_of(std::string_view result, std::string_view code) {
    if (result == "SUCCESS") return code == "0" ? std::string(succeeded) : "exit " + std::string(code);
    std::string text;
    for (const char c : result)
        text += c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result == "SIGNAL" ? text + " " + std::string(code) : text;
}

class AttemptSink : public model::TransactionSink {
  public:
    void worker(std::string_view address, WallMicros joined) override {
        all_.workers.push_back({std::string(address), joined, 0, 0});
    }
    void worker_left(std::uint32_t worker, WallMicros when, std::string_view) override {
        all_.workers[worker].left = when;
    }
    void attempt(const model::LoggedAttempt& logged) override {
        Attempt attempt;
        attempt.task = logged.task;
        attempt.calls = logged.calls;
        attempt.category = logged.category;
        attempt.worker = logged.worker;
        attempt.outcome = outcomes_.place_of(outcome_of(logged.result, logged.code));
        if (logged.running == 0)
            place_calls(attempt, logged);
        else
            place_task(attempt, logged);
        all_.attempts.push_back(attempt);
    }
    void never_ran() override { all_.never_ran += 1; }

    Attempts result(std::vector<std::string> categories) {
        all_.categories = std::move(categories);
        finish(all_);
        return std::move(all_);
    }

  private:
    // There is a line about once a second.
    static void place_calls(Attempt& attempt, const model::LoggedAttempt& logged) {
        const std::int64_t wall = std::min(
            model::logged_micros(model::logged_amount(logged.measured, "wall_time")), micros_per_second);
        attempt.waiting = attempt.input = attempt.started = logged.over - wall;
        attempt.output = attempt.ended = logged.over;
    }

    static void place_task(Attempt& attempt, const model::LoggedAttempt& logged) {
        attempt.waiting = logged.waiting;
        attempt.output = logged.returned != 0 ? logged.returned : logged.over;
        if (logged.output.begin > logged.running)
            attempt.output = std::min(attempt.output, logged.output.begin);
        attempt.ended = logged.output.begin != 0 ? logged.over : attempt.output;
        // It may have waited at the worker until another had ended.
        const std::int64_t wall = model::logged_micros(model::logged_amount(logged.measured, "wall_time"));
        attempt.started = wall > 0 ? std::max(logged.running, attempt.output - wall) : logged.running;
        place_input(attempt, logged.input.begin, logged.input.end);
    }

    Attempts all_;
    Names outcomes_{all_.outcomes};
};

}  // namespace

Result<Attempts> read_transactions(std::string_view text, const std::string& name) {
    AttemptSink sink;
    auto parsed = model::parse_transactions(text, name, sink);
    if (!parsed) return parsed.error();
    return sink.result(std::move(parsed->categories));
}

}  // namespace wq::views
