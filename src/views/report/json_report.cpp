#include "views/report/json_report.h"

#include <string>
#include <utility>

#include "base/time.h"
#include "views/report/advice.h"
#include "views/report/amounts.h"

namespace wq::views::report {

namespace {

// Times: 0 is not known. Others: below 0 is not recorded.
Json known_time(WallMicros time) {
    return time == 0 ? Json() : Json(time);
}
template <class Number>
Json known(Number value) {
    return value < 0 ? Json() : Json(value);
}

Json json_of(const Spread& spread) {
    if (spread.count == 0) return nullptr;
    return {{"count", spread.count},
            {"min", spread.least},
            {"lower_quartile", spread.lower_quartile},
            {"median", spread.median},
            {"upper_quartile", spread.upper_quartile},
            {"percentile_95", spread.percentile_95},
            {"max", spread.most},
            {"mean", spread.mean}};
}

Json json_of(const AskedAndUsed& both) {
    return {{"asked", json_of(both.asked)},
            {"used", json_of(both.used)},
            {"used_percent_of_asked", json_of(both.percent)}};
}

Json json_of(const FailureKind& kind) {
    using engine::model::Ending;
    return {{"ending", engine::model::name_of(kind.ending)},
            {"exit_code", kind.ending == Ending::exited ? Json(kind.exit_code) : Json()},
            {"signal", kind.ending == Ending::signalled ? Json(kind.signal) : Json()},
            {"text", describe(kind)}};
}

Json json_of(const CategoryFigures& category) {
    Json failures = Json::array();
    for (const FailureCount& each : category.failures) {
        Json failure = json_of(each.kind);
        failure["attempts"] = each.attempts;
        failures.push_back(std::move(failure));
    }
    return {{"name", category.name},
            {"attempts", category.attempts},
            {"succeeded", category.succeeded},
            {"failed", category.failed()},
            {"running", category.running},
            {"failures", std::move(failures)},
            {"allocated_core_seconds", category.core_seconds},
            {"used_core_seconds", known(category.used_core_seconds)},
            {"wall_seconds", json_of(category.wall_seconds)},
            {"cores", json_of(category.cores)},
            {"memory_mib", json_of(category.memory_mb)},
            {"disk_mib", json_of(category.disk_mb)},
            {"input_bytes", json_of(category.bytes_in)},
            {"output_bytes", json_of(category.bytes_out)}};
}

Json json_of(const HostFigures& host) {
    const double offered = host.offered_core_seconds;
    const auto share = [&](double part) {
        return offered > 0 && part >= 0 ? Json(100 * part / offered) : Json();
    };
    return {{"name", host.name},
            {"workers", host.workers},
            {"attempts", host.attempts},
            {"failed", host.failed},
            {"offered_core_seconds", offered},
            {"allocated_core_seconds", host.core_seconds},
            {"allocated_percent", share(host.core_seconds)},
            {"used_core_seconds", known(host.used_core_seconds)},
            {"used_percent", share(host.used_core_seconds)},
            {"mean_wall_seconds", host.mean_wall_seconds > 0 ? Json(host.mean_wall_seconds) : Json()},
            {"wall_of_other_hosts", host.slowness > 0 ? Json(host.slowness) : Json()}};
}

Json json_of(const FailureGroup& group) {
    Json failure = json_of(group.kind);
    failure["attempts"] = group.attempts;
    Json examples = Json::array();
    for (const FailureExample& each : group.examples) {
        examples.push_back({{"task", each.task},
                            {"line", each.line > 0 ? Json(each.line) : Json()},
                            {"attempt", each.attempt},
                            {"final", each.is_final},
                            {"category", each.category},
                            {"host", each.host},
                            {"stderr_end", each.stderr_end.empty() ? Json() : Json(each.stderr_end)},
                            {"command", each.command.empty() ? Json() : Json(each.command)}});
    }
    failure["examples"] = std::move(examples);
    return failure;
}

Json json_of(const SlowAttempt& slow) {
    return {{"task", slow.task},         {"line", slow.line > 0 ? Json(slow.line) : Json()},
            {"attempt", slow.attempt},   {"wall_seconds", slow.wall_seconds},
            {"category", slow.category}, {"host", slow.host},
            {"command", slow.command.empty() ? Json() : Json(slow.command)}};
}

Json json_of(const model::Account& account) {
    Json lines = Json::array();
    for (std::size_t n = 0; n < account.lines.size(); ++n) {
        const auto line = static_cast<model::AccountLine>(n);
        lines.push_back({{"name", model::name_of(line)},
                         {"title", model::title_of(line)},
                         {"meaning", model::meaning_of(line)},
                         {"core_seconds", core_seconds(account.lines[n])},
                         {"percent", percent_of(account.lines[n], account.offered)}});
    }
    Json lost = Json::object();
    for (std::size_t n = 0; n < account.lost_by_ending.size(); ++n)
        if (account.lost_by_ending[n] != 0)
            lost[engine::model::name_of(static_cast<engine::model::Ending>(n))] =
                core_seconds(account.lost_by_ending[n]);
    return {{"offered_core_seconds", core_seconds(account.offered)},
            {"lines", std::move(lines)},
            {"lost_core_seconds_by_ending", std::move(lost)},
            {"idle_not_sampled_core_seconds", core_seconds(account.idle_not_sampled)},
            {"not_offered_core_seconds", core_seconds(account.not_offered)},
            {"above_allocation_core_seconds", core_seconds(account.above_allocation)}};
}

template <class T>
Json array_of(const std::vector<T>& values) {
    Json all = Json::array();
    for (const T& each : values) all.push_back(json_of(each));
    return all;
}

Json sessions_of(const model::RunView& run) {
    Json all = Json::array();
    for (const model::RunSession& session : run.sessions)
        all.push_back({{"begin_us", known_time(session.begin)}, {"end_us", known_time(session.end)}});
    return all;
}

Json report_with(const ReportedRun& reported, Json categories, Json hosts) {
    constexpr int version = 1;  // of the keys and their meanings
    const model::RunView& run = reported.run;
    const RunFigures& figures = reported.figures;
    return {{"report", version},
            {"title", run.title},
            {"path", run.path},
            {"manager_host", run.host.empty() ? Json() : Json(run.host)},
            {"live", run.is_live},
            {"read_at_us", known_time(run.read_at)},
            {"begin_us", known_time(run.begin)},
            {"end_us", known_time(run.end)},
            {"sessions", sessions_of(run)},
            {"makespan_us", figures.makespan_us},
            {"tasks_per_second", figures.tasks_per_second},
            {"tasks",
             {{"succeeded", figures.tasks_succeeded},
              {"failed", figures.tasks_failed},
              {"never_ran", figures.tasks_never_ran},
              {"left", known(figures.tasks_left)}}},
            {"attempts",
             {{"ended", figures.attempts},
              {"failed", figures.attempts_failed},
              {"running", figures.attempts_running}}},
            {"workers", run.workers.size()},
            {"most_cores", static_cast<double>(figures.most_cores) / 1000},
            {"account", json_of(reported.account)},
            {"categories", std::move(categories)},
            {"hosts", std::move(hosts)},
            {"failures", array_of(figures.failures)},
            {"slowest", array_of(figures.slowest)},
            {"advice", advice_of(reported)},
            {"lacks", run.lacks}};
}

}  // namespace

Json json_report(const ReportedRun& reported) {
    return report_with(reported, array_of(reported.figures.categories), array_of(reported.figures.hosts));
}

Json json_summary(const ReportedRun& reported) {
    return report_with(reported, Json(), Json());
}

}  // namespace wq::views::report
