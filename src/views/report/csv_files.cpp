#include "views/report/csv_files.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/units.h"
#include "records/journal/append_file.h"
#include "views/model/csv_text.h"
#include "views/report/amounts.h"
#include "views/report/pieces_file.h"

namespace wq::views::report {

namespace {

using model::RunAttempt;
using model::RunView;
using records::journal::put_number;

// A row, field by field.
class Row {
  public:
    explicit Row(std::string& text) : text_(text) {}
    ~Row() { text_ += '\n'; }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    void text(std::string_view field) {
        separate();
        model::put_csv_text(text_, field);
    }
    template <class Number>
    void number(Number value) {
        separate();
        using Widest = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
        put_number(text_, static_cast<Widest>(value));
    }
    void flag(bool value) { number(value ? 1U : 0U); }
    void nothing() { separate(); }
    void known(std::int64_t value) { value < 0 ? nothing() : number(value); }
    void known_time(WallMicros time) { time == 0 ? nothing() : number(time); }
    void thousandths(std::int64_t value) {
        separate();
        if (value >= 0) text_ += format_count_with_fraction(Count::of_thousandths(value));
    }
    void decimals(double value, int digits) {
        separate();
        text_ += decimal(value, digits);
    }
    // To the last digit: the rows of an account sum to its first one.
    void exact_core_seconds(model::CoreTime time) {
        constexpr std::int64_t parts = 1'000'000'000;
        separate();
        put_number(text_, static_cast<std::int64_t>(time / parts));
        const std::string rest = std::to_string(static_cast<std::int64_t>(time % parts));
        text_.append(".").append(9 - rest.size(), '0').append(rest);
    }

  private:
    void separate() {
        if (std::exchange(begun_, true)) text_ += ',';
    }
    std::string& text_;
    bool begun_ = false;
};

struct Table {
    const char* name;
    const char* heading;  // a row
    std::size_t rows;
    std::function<void(std::size_t, Row&)> put;
};

Status write(const std::string& path, const Table& table) {
    std::size_t next = 0;
    return write_in_pieces(path, [&](std::string& text) {
        if (next == 0) text.append(table.heading).append("\n");
        if (next == table.rows) return false;
        Row row(text);
        table.put(next, row);
        return ++next < table.rows;
    });
}

void put_worker(const RunView& run, std::uint32_t worker, Row& row) {
    worker < run.workers.size() ? row.number(worker) : row.nothing();
}

void put_attempt(const RunView& run, const RunAttempt& attempt, Row& row) {
    row.number(attempt.task);
    attempt.line > 0 ? row.number(attempt.line) : row.nothing();
    row.number(attempt.attempt);
    row.number(attempt.calls);
    row.text(category_of(run, attempt));
    row.text(host_of(run, attempt));
    put_worker(run, attempt.worker, row);
    const bool has_ended = attempt.received != 0;
    using engine::model::Ending;
    row.text(has_ended ? engine::model::name_of(attempt.ending) : "");
    has_ended&& attempt.ending == Ending::exited ? row.number(attempt.exit_code) : row.nothing();
    has_ended&& attempt.ending == Ending::signalled ? row.number(attempt.signal) : row.nothing();
    row.flag(has_ended && attempt.is_final);
    row.flag(attempt.is_accepted);
    for (const WallMicros time : {attempt.submitted, attempt.ready, attempt.dispatched, attempt.inputs_there,
                                  attempt.started, attempt.ended, attempt.outputs_there, attempt.received})
        row.known_time(time);
    const bool ran = has_ended && attempt.started != 0;
    row.known(ran ? attempt.wall_us : model::not_recorded);
    row.known(ran ? attempt.cpu_us : model::not_recorded);
    row.thousandths(attempt.cores);
    row.known(attempt.memory_mb);
    row.known(attempt.disk_mb);
    row.thousandths(attempt.gpus);
    row.thousandths(attempt.cores_peak);
    row.known(attempt.memory_peak_mb);
    row.known(attempt.disk_peak_mb);
    row.known(attempt.bytes_in);
    row.known(attempt.bytes_out);
    row.known(attempt.disk_wait);
}

Table attempts_table(const RunView& run) {
    return {
        "attempts.csv",
        "task,line,attempt,calls,category,host,worker,ending,exit_code,signal,final,accepted,submitted_us,"
        "ready_us,dispatched_us,inputs_there_us,started_us,ended_us,outputs_there_us,received_us,wall_us,"
        "cpu_us,cores,memory_mib,disk_mib,gpus,peak_cores,peak_memory_mib,peak_disk_mib,input_bytes,"
        "output_bytes,disk_wait_per_mille",
        run.attempts.size(), [&run](std::size_t n, Row& row) { put_attempt(run, run.attempts[n], row); }};
}

Table workers_table(const RunView& run) {
    return {"workers.csv",
            "worker,id,rank,host,address,job,cores,allocated_cores,gpus,memory_mib,disk_mib,job_started_us,"
            "job_ends_us,process_started_us,joined_us,left_us,why_left",
            run.workers.size(), [&run](std::size_t n, Row& row) {
                const model::RunWorker& worker = run.workers[n];
                row.number(n);
                row.number(worker.id);
                worker.rank == records::journal::no_rank ? row.nothing() : row.number(worker.rank);
                for (const std::string* each : {&worker.host, &worker.address, &worker.job}) row.text(*each);
                row.thousandths(worker.cores);
                row.thousandths(worker.allocated_cores);
                row.thousandths(worker.gpus);
                row.known(worker.memory_mb);
                row.known(worker.disk_mb);
                for (const WallMicros time : {worker.job_started, worker.job_ends, worker.process_started,
                                              worker.joined, worker.left})
                    row.known_time(time);
                row.text(worker.why_left);
            }};
}

// The offer, then all lines, then what stands beside the sum.
Table account_table(const model::Account& account) {
    const std::size_t lines = account.lines.size();
    return {"account.csv", "line,core_seconds,percent,meaning", lines + 4,
            [&account, lines](std::size_t n, Row& row) {
                const auto put = [&](const char* name, model::CoreTime time, const char* meaning) {
                    row.text(name);
                    row.exact_core_seconds(time);
                    row.decimals(percent_of(time, account.offered), 3);
                    row.text(meaning);
                };
                const auto line = static_cast<model::AccountLine>(n - 1);
                if (n == 0) return put("offered", account.offered, "cores of workers, while they were there");
                if (n <= lines) return put(model::name_of(line), account.at(line), model::meaning_of(line));
                if (n == lines + 1)
                    return put("not_offered", account.not_offered,
                               "beside the sum: cores of batch jobs that their workers do not offer");
                if (n == lines + 2)
                    return put("idle_not_sampled", account.idle_not_sampled,
                               "of idle_in_tasks: without samples, so a part may be waits for files");
                put("above_allocation", account.above_allocation,
                    "beside the sum: processor time beyond what attempts held");
            }};
}

std::string spread_columns(const std::string& name) {
    std::string columns;
    for (const char* const each :
         {"min", "lower_quartile", "median", "upper_quartile", "percentile_95", "max"})
        columns.append(",").append(name).append("_").append(each);
    return columns;
}

void put_spread(const Spread& spread, Row& row) {
    for (const double value : {spread.least, spread.lower_quartile, spread.median, spread.upper_quartile,
                               spread.percentile_95, spread.most})
        spread.count == 0 ? row.nothing() : row.decimals(value, 3);
}

// Their order is that of put_category().
std::string category_heading() {
    std::string heading =
        "category,attempts,succeeded,failed,running,allocated_core_seconds,used_core_seconds";
    for (const char* const name :
         {"wall_seconds", "cores_asked", "cores_used", "cores_percent", "memory_asked_mib", "memory_used_mib",
          "memory_percent", "disk_asked_mib", "disk_used_mib", "disk_percent", "input_bytes", "output_bytes"})
        heading += spread_columns(name);
    return heading;
}

void put_category(const CategoryFigures& category, Row& row) {
    row.text(category.name);
    row.number(category.attempts);
    row.number(category.succeeded);
    row.number(category.failed());
    row.number(category.running);
    row.decimals(category.core_seconds, 3);
    category.used_core_seconds < 0 ? row.nothing() : row.decimals(category.used_core_seconds, 3);
    put_spread(category.wall_seconds, row);
    for (const AskedAndUsed* each : {&category.cores, &category.memory_mb, &category.disk_mb}) {
        put_spread(each->asked, row);
        put_spread(each->used, row);
        put_spread(each->percent, row);
    }
    put_spread(category.bytes_in, row);
    put_spread(category.bytes_out, row);
}

Table waiting_table(const RunView& run) {
    return {"waiting.csv",
            "time_us,reason,tasks,ask,ask_cores,ask_memory_mib,ask_disk_mib,ask_gpus,ask_features",
            run.waiting.size(), [&run](std::size_t n, Row& row) {
                const model::RunWaiting& waiting = run.waiting[n];
                row.number(waiting.time);
                row.text(engine::model::name_of(waiting.reason));
                row.number(waiting.tasks);
                if (waiting.ask >= run.asks.size()) {
                    for (int field = 0; field < 6; ++field) row.nothing();
                    return;
                }
                const model::RunAsk& ask = run.asks[waiting.ask];
                row.number(waiting.ask);
                row.thousandths(ask.needs.cores.thousandths());
                row.known(ask.needs.memory_mb);
                row.known(ask.needs.disk_mb);
                row.thousandths(ask.needs.gpus.thousandths());
                row.text(ask.features);
            }};
}

}  // namespace

Result<std::vector<std::string>> write_csv_files(const std::string& directory, const ReportedRun& reported) {
    std::error_code failed;
    std::filesystem::create_directories(directory, failed);
    if (failed) return records::journal::write_error(directory, failed.value());
    const std::string categories = category_heading();
    const std::vector<CategoryFigures>& all = reported.figures.categories;
    const Table tables[] = {attempts_table(reported.run), workers_table(reported.run),
                            account_table(reported.account),
                            Table{"categories.csv", categories.c_str(), all.size(),
                                  [&all](std::size_t n, Row& row) { put_category(all[n], row); }},
                            waiting_table(reported.run)};
    std::vector<std::string> paths;
    for (const Table& table : tables) {
        paths.push_back((std::filesystem::path(directory) / table.name).string());
        if (const Status written = write(paths.back(), table); !written) return written.error();
    }
    return paths;
}

}  // namespace wq::views::report
