#include "views/model/transactions_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/units.h"
#include "records/journal/append_file.h"
#include "views/model/attempt_times.h"
#include "views/model/stats_run.h"
#include "views/model/transactions_parser.h"

namespace wq::views::model {

using engine::model::Ending;

namespace {

struct NamedEnding {
    std::string_view result;
    Ending ending;
};
// In upper case: results of Work Queue.
constexpr NamedEnding endings[] = {
    {"SUCCESS", Ending::exited},
    {"SIGNAL", Ending::signalled},
    {"MAX_WALLTIME", Ending::timed_out},
    {"TASK_TIMEOUT", Ending::timed_out},
    {"RESOURCE_EXHAUSTION", Ending::exhausted},
    {"DISK_ALLOC_FULL", Ending::disk_full},
    {"DISK_FULL", Ending::disk_full},
    {"UNKNOWN", Ending::not_started},
    {"FORSAKEN", Ending::killed},
    {"FAST_ABORT", Ending::too_slow},
    {"MAX_RETRIES", Ending::worker_lost},
    {"END_TIME", Ending::expired},
    {"INPUT_MISS", Ending::input_missing},
    {"INPUT_MISSING", Ending::input_missing},
    {"OUTPUT_MISS", Ending::output_missing},
    {"OUTPUT_MISSING", Ending::output_missing},
    {"STDOUT_MISSING", Ending::output_missing},
    {"OUTPUT_TRANSFER_ERROR", Ending::not_transferred},
    {"lost", Ending::worker_lost},
    {"cancelled", Ending::killed},
    {"not needed", Ending::killed},
};

Ending ending_of(std::string_view result) {
    for (const NamedEnding& one : endings)
        if (one.result == result) return one.ending;
    return result == "running" ? Ending::exited : Ending::killed;
}

// In parts of its unit, if it is there.
std::int64_t amount_in(std::string_view json, std::string_view name, double parts) {
    const std::string_view text = logged_amount(json, name);
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr auto most = static_cast<double>(std::int64_t{1} << 30);
    if (text.empty() || error != std::errc{} || !(value >= 0)) return not_recorded;
    return std::llround(std::min(value * parts, most * 1000));
}

std::int32_t count_in(std::string_view json, std::string_view name) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(amount_in(json, name, 1000), std::int64_t{1} << 30));
}

// "node1:9123", or "[2001:db8::5]:9123".
std::string_view host_of(std::string_view address) {
    const std::string_view host = address.substr(0, address.rfind(':'));
    return host.size() > 1 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2)
                                                                        : host;
}

class RunSink : public TransactionSink {
  public:
    void session(WallMicros begin) override { run_.sessions.push_back({begin, begin}); }

    void worker(std::string_view address, WallMicros joined) override {
        RunWorker worker;
        worker.id = static_cast<std::uint32_t>(run_.workers.size());
        worker.address = address;
        worker.host = host_of(address);
        worker.joined = joined;
        run_.workers.push_back(std::move(worker));
    }

    void worker_has(std::uint32_t place, std::string_view json) override {
        RunWorker& worker = run_.workers[place];
        worker.cores = std::max<std::int64_t>(amount_in(json, "cores", 1000), 0);
        worker.gpus = std::max<std::int64_t>(amount_in(json, "gpus", 1000), 0);
        worker.memory_mb = std::max<std::int64_t>(amount_in(json, "memory", 1), 0);
        worker.disk_mb = std::max<std::int64_t>(amount_in(json, "disk", 1), 0);
    }

    void worker_left(std::uint32_t place, WallMicros when, std::string_view why) override {
        run_.workers[place].left = when;
        run_.workers[place].why_left = why;
    }

    void attempt(const LoggedAttempt& logged) override {
        RunAttempt attempt;
        attempt.task = logged.task;
        attempt.calls = std::max<std::uint32_t>(logged.calls, 1);
        attempt.attempt = logged.attempt;
        attempt.category = logged.category;
        attempt.worker = logged.worker;
        attempt.ending = ending_of(logged.result);
        read_code(attempt, logged.code);
        attempt.is_accepted = logged.result == "SUCCESS" && attempt.exit_code == 0;
        if (logged.result == "lost" || logged.result == "not needed") attempt.is_final = false;
        place(attempt, logged);
        read_amounts(attempt, logged);
        attempt.ask = ask_of(logged.asked);
        last_[attempt.task] = static_cast<std::uint32_t>(run_.attempts.size());
        run_.attempts.push_back(attempt);
    }

    void again(std::uint64_t task) override {
        const auto last = last_.find(task);
        if (last == last_.end()) return;
        RunAttempt& attempt = run_.attempts[last->second];
        attempt.is_final = attempt.is_accepted = false;
    }

    void transfer(std::uint64_t task, bool is_input, WallMicros end, std::int64_t bytes, std::int64_t took,
                  std::string_view name) override {
        run_.transfers.push_back(
            {end, took, task, static_cast<std::uint64_t>(bytes), no_place, is_input, std::string(name)});
    }

    RunView result(LoggedTime parsed);

  private:
    static void read_code(RunAttempt& attempt, std::string_view code) {
        int value = 0;
        std::from_chars(code.data(), code.data() + code.size(), value);
        if (attempt.ending == Ending::signalled)
            attempt.signal = static_cast<std::uint16_t>(std::clamp(value, 0, 1000));
        else
            attempt.exit_code = value;
    }

    static void place(RunAttempt& attempt, const LoggedAttempt& logged) {
        const std::int64_t wall = logged_micros(logged_amount(logged.measured, "wall_time"));
        if (wall > 0) attempt.wall_us = wall;
        attempt.received = logged.result == "running" ? 0 : logged.over;
        if (logged.running == 0) {  // calls of a range: there is a line about once a second
            attempt.started = logged.over - std::min(wall, micros_per_second);
            return;
        }
        attempt.submitted = logged.waiting;
        attempt.dispatched = logged.running;
        attempt.inputs_there = logged.input.end;
        attempt.outputs_there = logged.output.end;
        attempt.bytes_in = logged.input.bytes, attempt.bytes_out = logged.output.bytes;
        WallMicros ended = logged.returned != 0 ? logged.returned : logged.over;
        if (logged.output.begin > logged.running) ended = std::min(ended, logged.output.begin);
        // It may have waited at the worker until another had ended.
        attempt.started = wall > 0 ? std::max(logged.running, ended - wall) : logged.running;
        attempt.started = std::max(attempt.started, logged.input.end < ended ? logged.input.end : 0);
        if (attempt.received != 0) attempt.ended = ended;
    }

    static void read_amounts(RunAttempt& attempt, const LoggedAttempt& logged) {
        attempt.cores = std::max(count_in(logged.allocated, "cores"), 0);
        attempt.gpus = count_in(logged.allocated, "gpus");
        if (logged.running != 0) {
            attempt.memory_mb = amount_in(logged.allocated, "memory", 1);
            attempt.disk_mb = amount_in(logged.allocated, "disk", 1);
        }
        const std::string_view cpu = logged_amount(logged.measured, "cpu_time");
        if (!cpu.empty()) attempt.cpu_us = logged_micros(cpu);
        attempt.memory_peak_mb = amount_in(logged.measured, "memory", 1);
        attempt.disk_peak_mb = amount_in(logged.measured, "disk", 1);
    }

    std::uint32_t ask_of(std::string_view json) {
        if (json.empty()) return no_place;
        const std::string_view amounts = json.substr(std::min(json.find('{'), json.size()));
        if (const auto known = ask_texts_.find(amounts); known != ask_texts_.end()) return known->second;
        RunAsk ask;
        const auto count = [&](std::string_view name) {
            return Count::of_thousandths(amount_in(amounts, name, 1000) < 0 ? -1000
                                                                            : amount_in(amounts, name, 1000));
        };
        ask.needs.cores = count("cores"), ask.needs.gpus = count("gpus");
        ask.needs.memory_mb = amount_in(amounts, "memory", 1),
        ask.needs.disk_mb = amount_in(amounts, "disk", 1);
        if (run_.asks.size() >= records::journal::most_asks) return no_place;
        const auto place = static_cast<std::uint32_t>(run_.asks.size());
        run_.asks.push_back(ask);
        ask_texts_.emplace(amounts, place);
        return place;
    }

    RunView run_;
    std::map<std::string_view, std::uint32_t> ask_texts_;    // of the log's text
    std::unordered_map<std::uint64_t, std::uint32_t> last_;  // attempt of a task
};

RunView RunSink::result(LoggedTime parsed) {
    for (std::string& name : parsed.categories) run_.categories.push_back({std::move(name)});
    run_.end = parsed.end;
    for (RunAttempt& attempt : run_.attempts) bring_into_order(attempt);
    const auto end_of = [](const RunAttempt& attempt) {
        return attempt.received != 0 ? attempt.received : latest_time;
    };
    std::sort(run_.attempts.begin(), run_.attempts.end(), [&](const RunAttempt& a, const RunAttempt& b) {
        return std::tuple(end_of(a), a.task, a.attempt) < std::tuple(end_of(b), b.task, b.attempt);
    });
    run_.begin = run_.end;
    for (const RunSession& session : run_.sessions) run_.begin = std::min(run_.begin, session.begin);
    for (const RunAttempt& attempt : run_.attempts)
        if (attempt.submitted != 0) run_.begin = std::min(run_.begin, attempt.submitted);
    for (const RunWorker& worker : run_.workers) run_.begin = std::min(run_.begin, worker.joined);
    if (run_.sessions.empty()) run_.sessions.push_back({run_.begin, run_.end});
    for (std::size_t i = 0; i < run_.sessions.size(); ++i)
        run_.sessions[i].end = i + 1 < run_.sessions.size() ? run_.sessions[i + 1].begin : run_.end;
    for (const char* line :
         {"since when attempts could have been dispatched, and why tasks waited, is not in a transactions "
          "log: "
          "stats.h5 has it",
          "when workers and their batch jobs began, and when they were excluded or disconnected, is not in a "
          "transactions log: stats.h5 has it",
          "how long tasks waited for files is not in a transactions log: stats.h5 has it, of runs with "
          "--monitor=measure"})
        run_.lacks.emplace_back(line);
    if (std::any_of(run_.workers.begin(), run_.workers.end(),
                    [](const RunWorker& worker) { return worker.cores == 0; }))
        run_.lacks.emplace_back(
            "cores of some workers are not in the log (WORKER id RESOURCES): they are not in "
            "the account");
    return std::move(run_);
}

}  // namespace

Result<RunView> transactions_run_of(std::string_view text, const std::string& name) {
    RunSink sink;
    auto parsed = parse_transactions(text, name, sink);
    if (!parsed) return parsed.error();
    RunView run = sink.result(std::move(*parsed));
    run.path = name;
    run.title = title_of_list({}, name);
    run.read_at = wall_now();
    return run;
}

Result<RunView> read_transactions_run(const std::string& path) {
    const auto text = records::journal::MappedFile::open(path);
    if (!text) return text.error();
    return transactions_run_of(text->bytes(), path);
}

}  // namespace wq::views::model
