#include "factory/factory.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/time.h"
#include "base/units.h"
#include "factory/job_book.h"
#include "net/catalog/catalog_client.h"

namespace wq::factory {

namespace {

// A manager that does not answer is believed to be as it was for this long.
constexpr Duration remembered = std::chrono::minutes(5);
// Batch systems may list a job only some time after its submission.
constexpr Duration listed_after = std::chrono::minutes(2);
constexpr int most_failed_starts = 3;
constexpr Duration longest_doubt = std::chrono::minutes(10);
// Slurm's arrays have up to 1000 tasks unless the site says otherwise.
constexpr std::int64_t most_at_once = 1000;

}  // namespace

std::vector<std::string> submit_options(const PoolSettings& settings, const std::string& factory) {
    std::vector<std::string> words;
    const auto add = [&](const char* option, const std::string& value) {
        words.emplace_back(option);
        words.push_back(value);
    };
    const auto add_amount = [&](const char* option, std::int64_t amount) {
        if (amount > 0) add(option, std::to_string(amount));
    };
    add("--from-factory", factory);
    add("--timeout", std::to_string(std::chrono::ceil<std::chrono::seconds>(settings.timeout).count()));
    add_amount("--cores", settings.size.cores.rounded_up());
    add_amount("--memory", settings.size.memory_mb);
    add_amount("--disk", settings.size.disk_mb);
    add_amount("--gpus", settings.size.gpus.rounded_up());
    if (settings.autosize) words.emplace_back("--autosize");
    if (!settings.condor_requirements.empty()) add("--condor-requirements", settings.condor_requirements);
    if (!settings.worker_extra_options.empty()) add("--extra-options", settings.worker_extra_options);
    if (settings.manager_name.empty()) return words;
    add("--manager-name", settings.manager_name);
    if (const auto catalogs = net::catalog::named_catalog_hosts(settings.catalog);
        catalogs && !catalogs->empty())
        add("--catalog", net::catalog::to_text(*catalogs));
    return words;
}

Factory::Factory(FactoryOptions options, PoolSettings settings, Managers& managers, BatchSystem& batch,
                 JobBook& book, engine::model::Now now)
    : options_(std::move(options)),
      settings_(std::move(settings)),
      managers_(managers),
      batch_(batch),
      book_(book),
      random_(options_.seed),
      next_status_(now.instant),
      submits_again_(now.instant),
      had_tasks_(now.instant) {}

CycleReport Factory::cycle(engine::model::Now now) {
    CycleReport report;
    report.time = now.wall;
    look_at_managers(report, now);
    // The first question comes a cycle after the first submission, so that its reason for waiting is soon
    // known.
    const bool has_jobs = !book_.jobs().empty() || !book_.doubtful().empty();
    if (has_jobs && now.instant >= next_status_) {
        next_status_ = now.instant + options_.status_every;
        settle_doubts(now.instant);
        look_at_jobs(now.instant);
    }
    count_workers(report);
    if (report.ended != Ended::no) {
        wait_for_next_run(report);
        return report;
    }
    report.decision = decide(demand(report), settings_.size, report.supply, limits());
    report.unfit += report.decision.unfit;
    act(report, now.instant);
    return report;
}

// ---- what it sees ----

void Factory::look_at_managers(CycleReport& report, engine::model::Now now) {
    auto answers = managers_.ask(settings_);
    bool answered = false;
    if (!answers) {
        all_answered_ = false;
        complain(answers.error());
    } else {
        all_answered_ = true;
        report.ended = answers->ended;
        for (ManagerAnswer& answer : answers->managers) {
            if (answer.report) {
                answered = true;
                known_[answer.manager] = {std::move(*answer.report), now,
                                          answer.by_record ? answer.by_record->workers : 0,
                                          std::move(answer.project), std::move(answer.at)};
                if (answer.by_record) {
                    ++report.by_record;
                    const std::int64_t age = now.wall / micros_per_second - answer.by_record->heard;
                    report.oldest_record_s = std::max(report.oldest_record_s, age);
                }
                continue;
            }
            ++report.unanswered;
            // Of a record that leads nowhere there is nothing to wait for.
            if (answer.by_record && !known_.contains(answer.manager)) continue;
            all_answered_ = false;
            if (!answer.by_record) say(answer.manager + ": " + answer.report.error().message);
        }
    }
    std::erase_if(known_, [&](const auto& known) {
        const Instant at = known.second.at.instant;
        const bool ended = all_answered_ && at < now.instant;  // and listed no more
        return ended || now.instant - at > remembered;
    });
    report.managers = known_.size();
    for (const auto& [manager, known] : known_) report.served.push_back(served(known));
    if (answered) return;
    for (const auto& [manager, known] : known_)
        report.silent_since = std::max(report.silent_since, known.at.wall);
}

ServedManager Factory::served(const Known& known) {
    const net::messages::StatusReport& report = known.report;
    ServedManager served{known.project, known.address, 0, 0, report.done + report.failed, 0};
    for (const net::messages::TasksOfShape& shape : report.shapes) {
        served.ready += shape.ready;
        served.on_workers += shape.on_workers;
    }
    for (const net::messages::WorkerStatus& worker : report.workers)
        served.workers += worker.connected ? 1 : 0;
    served.workers = std::max(served.workers, known.unnamed_workers);
    return served;
}

void Factory::settle_doubts(Instant now) {
    const std::map<std::string, Doubt> doubtful = book_.doubtful();
    for (const auto& [name, doubt] : doubtful) {
        if (now < doubt.settled_from) continue;
        const auto found = batch_.find(named(name, doubt.count));
        if (found)
            complain(found->empty() ? book_.gone(name) : book_.made(name, *found, now));
        else if (now < doubt.settled_from + longest_doubt)
            say("cannot tell whether " + name + " was submitted: " + found.error().message);
        else
            give_up(name);
    }
}

// Nobody could tell for so long: workers that come all the same are this factory's by their feature.
void Factory::give_up(const std::string& name) {
    say(name +
        " counts as not submitted: the batch system does not tell whether it was; look for jobs of this "
        "name");
    complain(book_.gone(name));
}

void Factory::look_at_jobs(Instant now) {
    if (book_.jobs().empty()) return;
    const auto jobs = batch_.status(book_.ids());
    if (!jobs) return say(jobs.error().message);
    std::vector<std::string> ended;
    std::vector<std::string> stuck;
    for (const JobStatus& job : *jobs) {
        const auto known = book_.jobs().find(job.id);
        if (known == book_.jobs().end()) continue;
        if (job.state == JobState::unknown && now - known->second.since < listed_after) continue;
        if (job.state == JobState::pending || job.state == JobState::running) {
            book_.set_state(job.id, job.state, job.detail);
            continue;
        }
        if (job.state == JobState::stuck) stuck.push_back(job.id);
        ended.push_back(job.id);
        note_end(job.id, known->second, job.detail);
    }
    if (!stuck.empty()) complain(batch_.remove(stuck));
    complain(book_.ended(ended));
}

// A worker may join and leave between two looks at its manager: its log knows.
void Factory::note_end(const std::string& id, const BatchJob& job, const std::string& how) {
    const std::string path = log_of(options_.folder + "/" + job.submission, id);
    if (job.joined || job.inherited || joined_by_its_log(path)) {
        if (!job.inherited) failed_starts_ = 0, careful_ = false;
        return;
    }
    if (how.find("CANCEL") != how.npos || how == "removed") return say("job " + id + " was removed: " + how);
    const std::string ended =
        "job " + id + " ended before its worker reached a manager" + (how.empty() ? "" : ": " + how);
    if (++failed_starts_ < most_failed_starts) return say(ended);
    careful_ = true;
    held_ = std::to_string(failed_starts_) + " workers in a row failed to start";
    say(held_ + "; " + ended +
        (failed_starts_ == most_failed_starts ? "; the end of its log, " + path + ":" : ""));
    if (failed_starts_ == most_failed_starts)  // those that were submitted with it end alike
        for (const std::string& line : tail_of(path)) say("| " + line);
    submits_again_ =
        std::max(submits_again_, next_status_ - options_.status_every + options_.pause_after_failures);
}

// At most what its own tasks fill: no record says away what other managers need.
std::int64_t Factory::unnamed_workers(const Known& known) const {
    if (known.unnamed_workers == 0) return 0;
    double filled = 0;
    const auto add = [&](const engine::model::Needs& needs, std::uint64_t tasks) {
        filled += workers_for({needs, tasks, tasks}, settings_.size, limits()).value_or(0);
    };
    for (const net::messages::TasksOfShape& shape : known.report.shapes)
        add(shape.needs, shape.ready + shape.on_workers);
    add({}, known.report.further);
    return static_cast<std::int64_t>(std::min(static_cast<double>(known.unnamed_workers), std::ceil(filled)));
}

void Factory::count_workers(CycleReport& report) {
    std::set<std::string> present;
    Count other_cores;
    std::int64_t others = 0;
    std::int64_t unknown = 0;  // of a system that gives its jobs no id
    std::int64_t unnamed = 0;
    for (const auto& [manager, known] : known_) {
        unnamed += unnamed_workers(known);
        for (const net::messages::WorkerStatus& worker : known.report.workers) {
            if (worker.factory == options_.name) {
                present.insert(worker.job);
                ++report.supply.connected;
                unknown += book_.jobs().contains(worker.job) ? 0 : 1;
            } else if (worker.connected) {
                ++others;
                other_cores += worker.offers.cores;
            }
        }
    }
    if (book_.set_present(present) > 0) failed_starts_ = 0, careful_ = false;
    const JobCounts jobs = book_.counts();
    report.supply.pending = jobs.pending;
    report.pending_why = book_.why_pending();
    report.supply.starting = std::max<std::int64_t>(jobs.starting - unknown, 0);
    // A record tells no factory of a worker: as many as we have started are ours.
    const std::int64_t ours = std::min(unnamed, report.supply.starting);
    report.supply.starting -= ours;
    report.supply.connected += ours;
    others += unnamed - ours;
    other_cores += (unnamed - ours) * settings_.size.cores;
    // A rank of 64 cores is worth 16 workers of 4.
    const bool sized = settings_.size.cores > 0;
    report.supply.others = sized ? (other_cores.thousandths() / settings_.size.cores.thousandths()) : others;
}

std::vector<Demand> Factory::demand(CycleReport& report) const {
    std::vector<Demand> all;
    // The name is known only when a worker has started them.
    const bool coprocesses = settings_.worker_extra_options.find("--coprocess") != std::string::npos;
    const auto has = [&](const std::string& feature) {
        if (coprocesses && (feature.starts_with(engine::model::coprocess_feature) ||
                            feature.starts_with(engine::model::coprocess_feature_of_cctools)))
            return true;
        return feature == std::string(engine::model::factory_feature) + options_.name ||
               std::find(options_.features.begin(), options_.features.end(), feature) !=
                   options_.features.end();
    };
    for (const auto& [manager, known] : known_) {
        if (known.report.ending) continue;
        for (const net::messages::TasksOfShape& tasks : known.report.shapes) {
            report.ready += tasks.ready;
            report.on_workers += tasks.on_workers;
            const std::uint64_t count = tasks.ready + tasks.on_workers;
            if (std::all_of(tasks.features.begin(), tasks.features.end(), has))
                all.push_back({tasks.needs, count, tasks.ready, tasks.rules});
            else
                report.unfit += tasks.ready;
        }
        if (known.report.further > 0) all.push_back({{}, known.report.further, known.report.further, {}});
        report.ready += known.report.further;
    }
    return all;
}

PoolLimits Factory::limits() const {
    PoolLimits limits;
    limits.least = settings_.min_workers;
    limits.most = settings_.max_workers;
    limits.unconnected = careful_ ? 1 : settings_.workers_per_cycle;
    limits.tasks_per_worker = settings_.tasks_per_worker;
    std::int64_t tasks = 0;
    for (const auto& [manager, known] : known_) tasks += known.report.capacity_tasks;
    if (settings_.capacity && tasks > 0) {
        const std::int64_t each = settings_.tasks_per_worker.value_or(
            std::max<std::int64_t>(settings_.size.cores.rounded_down(), 1));
        limits.capacity = (tasks + each - 1) / each;
    }
    return limits;
}

// ---- what it does ----

void Factory::act(CycleReport& report, Instant now) {
    if (report.ready + report.on_workers > 0) had_tasks_ = now;
    // What vanishes for one cycle only is not worth new waiting in the queue.
    const std::int64_t surplus = std::exchange(surplus_, report.decision.remove);
    if (all_answered_ || known_.empty()) remove(report, std::min(surplus, report.decision.remove));
    if (report.decision.submit <= 0) return;
    if (report.silent_since > 0) {
        report.held = "no manager answers";
        return;
    }
    if (now < submits_again_) {
        report.held = held_ + "; again in " + format_duration(submits_again_ - now);
        return;
    }
    submit(report, std::min(report.decision.submit, most_at_once), now);
}

// Running workers of a run that is over would idle until their timeout.
void Factory::wait_for_next_run(CycleReport& report) {
    const auto jobs = static_cast<std::int64_t>(book_.jobs().size());
    report.decision.wanted = report.ended == Ended::over ? 0 : jobs;
    if (report.ended != Ended::over || (jobs == 0 && book_.doubtful().empty())) return;
    const Status removed = end();
    complain(removed);
    if (removed) report.removed = jobs;
}

void Factory::submit(CycleReport& report, std::int64_t count, Instant now) {
    Submission request = named(fresh_name(), count);
    request.options = submit_options(settings_, options_.name);
    request.options.insert(request.options.end(), options_.submit_options.begin(),
                           options_.submit_options.end());
    if (const Status noted = book_.intend(request.name, count, now); !noted) {
        report.held = noted.error().message;
        return;
    }
    const auto ids = batch_.submit(request);
    if (ids) {
        complain(book_.made(request.name, *ids, now));
        report.submitted = static_cast<std::int64_t>(ids->size());
        failed_submissions_ = 0;
        return;
    }
    if (ids.error().code != ExitCode::interrupted) complain(book_.gone(request.name));
    // With jitter, because an overloaded system has many who try again.
    const double jitter = std::uniform_real_distribution<double>(0.75, 1.25)(random_);
    const double doubled = std::pow(2.0, std::min(failed_submissions_++, 20));
    const auto pause = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double, std::nano>(options_.first_pause) * doubled);
    submits_again_ =
        now + std::chrono::duration_cast<Duration>(
                  std::chrono::duration<double, std::nano>(std::min(pause, options_.longest_pause)) * jitter);
    constexpr std::string_view said_already = "nothing was submitted: ";
    std::string why = ids.error().message;
    if (why.starts_with(said_already)) why.erase(0, said_already.size());
    if (why != held_ || failed_submissions_ == 1) say(std::string(said_already) + why);
    held_ = std::move(why);
    report.held = held_ + "; again in " + format_duration(submits_again_ - now);
}

void Factory::remove(CycleReport& report, std::int64_t count) {
    const std::vector<std::string> ids = book_.newest_pending(count);
    if (ids.empty()) return;
    if (const Status removed = remove_jobs(ids); !removed) return say(removed.error().message);
    report.removed = static_cast<std::int64_t>(ids.size());
}

// 15 letters: as many as the names of jobs have that old PBS takes.
std::string Factory::fresh_name() {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::string name = "wqWorker-";
    for (int i = 0; i < 6; ++i) name += letters[random_() % letters.size()];
    return name;
}

Submission Factory::named(const std::string& name, std::int64_t count) const {
    return {name, options_.folder, count, {}};
}

bool Factory::timed_out(Instant now) const {
    return settings_.factory_timeout > Duration{0} && now - had_tasks_ >= settings_.factory_timeout;
}

// Batch systems refuse to remove jobs of which one has just ended.
Status Factory::remove_jobs(const std::vector<std::string>& ids) {
    const Status removed = batch_.remove(ids);
    if (!removed) {
        const auto jobs = batch_.status(ids);
        const auto is_there = [](const JobStatus& job) {
            return job.state == JobState::pending || job.state == JobState::running ||
                   job.state == JobState::stuck;
        };
        if (!jobs || std::any_of(jobs->begin(), jobs->end(), is_there)) return removed;
    }
    complain(book_.ended(ids));
    return success();
}

// What is known first: then what is in doubt.
Status Factory::end() {
    Status ended = success();
    if (const std::vector<std::string> ids = book_.ids(); !ids.empty()) ended = remove_jobs(ids);
    const std::map<std::string, Doubt> doubtful = book_.doubtful();
    for (const auto& [name, doubt] : doubtful) {
        const auto found = batch_.find(named(name, doubt.count));
        Status settled = found ? success() : Status(found.error());
        if (found && !found->empty()) settled = batch_.remove(*found);
        if (settled) settled = book_.gone(name);
        if (!settled) ended = std::move(settled);
    }
    return ended;
}

void Factory::complain(const Status& status) {
    if (!status) say(status.error().message);
}

std::string text_of(const CycleReport& report) {
    const auto number = [](auto value) { return format_count(static_cast<std::uint64_t>(value)); };
    std::string text =
        "tasks " + number(report.ready) + " waiting, " + number(report.on_workers) + " on workers";
    if (report.unfit > 0) text += ", " + number(report.unfit) + " not for these workers";
    if (report.silent_since > 0)
        text = "no answer since " + local_time(report.silent_since, "%H:%M:%S") + " (then " + text + ")";
    if (report.managers == 0) text = "no manager";
    if (report.ended == Ended::over)
        text = report.removed > 0 ? "the run has ended; its workers are removed"
                                  : "the run has ended; waiting for the next one (Ctrl-C ends this factory)";
    if (report.ended == Ended::resumable)
        text = "the run was interrupted; its workers wait until it is resumed";
    if (report.unanswered > 0 && report.silent_since == 0)
        text += " (" + count_of(report.unanswered, "manager") + " did not answer)";
    if (report.by_record > 0)
        text += " (" + count_of(report.by_record, "manager") + " by catalog, at most " +
                format_duration(std::chrono::seconds(report.oldest_record_s)) + " old)";
    text += "; workers " + number(report.supply.connected) + " connected, " + number(report.supply.starting) +
            " starting, " + number(report.supply.pending) + " pending";
    if (!report.pending_why.empty()) text += " (" + line_for_message(report.pending_why, 60) + ")";
    if (report.supply.others > 0) text += ", and others like " + number(report.supply.others);
    text += "; wanted " + number(report.decision.wanted);
    if (report.submitted > 0) text += "; submitted " + number(report.submitted);
    if (report.removed > 0) text += "; removed " + number(report.removed);
    if (!report.held.empty()) text += "; none submitted: " + report.held;
    return text;
}

std::optional<CycleReport> report_in(const std::string& line) {
    const auto all = Json::parse(line);
    if (!all.is_object()) return std::nullopt;
    const auto number = [&](const char* key, auto& target) {
        const Json* const found = all.find(key);
        if (found != nullptr && found->is_number_integer())
            target = static_cast<std::remove_reference_t<decltype(target)>>(found->integer());
    };
    CycleReport report;
    number("managers", report.managers);
    number("unanswered", report.unanswered);
    number("tasks_waiting", report.ready);
    number("tasks_on_workers", report.on_workers);
    number("tasks_unfit", report.unfit);
    number("workers_connected", report.supply.connected);
    number("workers_starting", report.supply.starting);
    number("workers_pending", report.supply.pending);
    number("workers_other", report.supply.others);
    number("workers_wanted", report.decision.wanted);
    number("submitted", report.submitted);
    number("removed", report.removed);
    if (const Json* const why = all.find("pending_why"); why != nullptr && why->is_string())
        report.pending_why = why->text();
    if (const Json* const held = all.find("held"); held != nullptr && held->is_string())
        report.held = held->text();
    return report;
}

std::string json_of(const CycleReport& report) {
    const Json all{{"time", report.time / micros_per_second},
                   {"managers", report.managers},
                   {"unanswered", report.unanswered},
                   {"tasks_waiting", report.ready},
                   {"tasks_on_workers", report.on_workers},
                   {"tasks_unfit", report.unfit},
                   {"workers_connected", report.supply.connected},
                   {"workers_starting", report.supply.starting},
                   {"workers_pending", report.supply.pending},
                   {"workers_other", report.supply.others},
                   {"workers_wanted", report.decision.wanted},
                   {"submitted", report.submitted},
                   {"removed", report.removed},
                   {"pending_why", report.pending_why},
                   {"held", report.held}};
    return all.dump();
}

std::string record_of(const CycleReport& report, const PoolSettings& settings, const std::string& factory,
                      std::int64_t number) {
    Json managers = Json::array();
    for (const ServedManager& one : report.served)
        managers.push_back({{"project", one.project},
                            {"name", one.at.host},
                            {"port", one.at.port},
                            {"tasks_waiting", one.ready},
                            {"tasks_running", one.on_workers},
                            {"tasks_complete", one.done},
                            {"workers", one.workers}});
    const Supply& supply = report.supply;
    const std::int64_t coming = supply.starting + supply.pending;
    const Json record{{"type", "wq_factory"},
                      {"port", -number},  // none: by address and port, servers tell records apart
                      {"factory_name", factory},
                      {"project_regex", settings.manager_name},
                      {"submission_regex", settings.manager_name},
                      {"max_workers", settings.max_workers},
                      {"workers_needed", report.decision.wanted},
                      {"workers_requested", report.decision.wanted},
                      {"workers_submitted", supply.connected + coming},
                      {"workers_to_connect", coming},
                      {"workers_connected", supply.connected},
                      {"managers", managers},
                      {"foremen", Json::array()},
                      {"owner", records::journal::user_name()},
                      {"name", records::journal::host_name()},
                      {"version", WQ_VERSION}};
    return record.dump();
}

}  // namespace wq::factory
