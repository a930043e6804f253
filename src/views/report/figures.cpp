#include "views/report/figures.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "views/model/account.h"

namespace wq::views::report {

namespace {

using engine::model::Ending;
using model::RunAttempt;
using model::RunView;

const std::string no_name;

bool has_ended(const RunAttempt& attempt) {
    return attempt.received != 0;
}

// Its measurements count.
bool ran(const RunAttempt& attempt) {
    return has_ended(attempt) && attempt.started != 0 && attempt.wall_us >= 0 &&
           attempt.ending != Ending::worker_lost && attempt.ending != Ending::never_ran;
}

double seconds(std::int64_t micros) {
    return static_cast<double>(micros) / static_cast<double>(micros_per_second);
}

double cores_of(std::int64_t thousandths) {
    return static_cast<double>(thousandths) / 1000;
}

double held_core_seconds(const RunAttempt& attempt) {
    return cores_of(attempt.cores) * seconds(attempt.wall_us);
}

// Adds to a sum that is below 0 until something of it is known.
void add_known(double& sum, double more) {
    if (more >= 0) sum = std::max(sum, 0.0) + more;
}

// ---- the task level ----

// A task that failed for good may have succeeded in a later session, and may have failed in several.
void count_tasks(const RunView& run, RunFigures& figures) {
    std::vector<std::pair<std::uint64_t, bool>> failed;  // task, and whether it never ran
    for (const RunAttempt& attempt : run.attempts) {
        if (!has_ended(attempt)) continue;
        if (attempt.is_accepted) figures.tasks_succeeded += attempt.calls;
        if (attempt.is_final && !attempt.succeeded())
            failed.emplace_back(attempt.task, attempt.ending == Ending::never_ran);
    }
    std::sort(failed.begin(), failed.end());
    const auto same_task = [](const auto& a, const auto& b) { return a.first == b.first; };
    failed.erase(std::unique(failed.begin(), failed.end(), same_task), failed.end());
    std::vector<bool> mended(failed.size());
    for (const RunAttempt& attempt : run.attempts) {
        if (!has_ended(attempt) || !attempt.is_accepted) continue;
        const auto found = std::lower_bound(failed.begin(), failed.end(), std::pair(attempt.task, false));
        if (found != failed.end() && found->first == attempt.task)
            mended[static_cast<std::size_t>(found - failed.begin())] = true;
    }
    for (std::size_t n = 0; n < failed.size(); ++n) {
        if (mended[n]) continue;
        ++figures.tasks_failed;
        if (failed[n].second) ++figures.tasks_never_ran;
    }
}

void count_attempts(const RunView& run, RunFigures& figures) {
    for (const RunAttempt& attempt : run.attempts) {
        if (!has_ended(attempt)) {
            figures.attempts_running += attempt.calls;
        } else if (attempt.ending != Ending::never_ran) {
            figures.attempts += attempt.calls;
            if (!attempt.succeeded()) figures.attempts_failed += attempt.calls;
        }
    }
}

// A sample before the last end says too much.
std::int64_t tasks_left(const RunView& run) {
    if (run.samples.empty()) return model::not_recorded;
    const model::RunSample& last = run.samples.back();
    const bool is_late = std::all_of(run.attempts.begin(), run.attempts.end(),
                                     [&](const RunAttempt& each) { return each.received <= last.time; });
    if (!is_late && !run.is_live) return model::not_recorded;
    return last.stats.tasks_waiting + last.stats.tasks_on_workers;
}

std::int64_t makespan(const RunView& run) {
    std::int64_t sum = 0;
    for (const model::RunSession& session : run.sessions)
        sum += std::max<std::int64_t>(0, session.end - session.begin);
    return run.sessions.empty() ? std::max<std::int64_t>(0, run.end - run.begin) : sum;
}

std::int64_t most_cores(const RunView& run) {
    std::vector<std::pair<WallMicros, std::int64_t>> changes;
    for (const model::RunWorker& worker : run.workers) {
        changes.emplace_back(worker.joined, worker.cores);
        if (worker.left != 0) changes.emplace_back(worker.left, -worker.cores);
    }
    std::sort(changes.begin(), changes.end());  // who leaves goes before who joins at that moment
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const auto& change : changes) most = std::max(most, now += change.second);
    return most;
}

// ---- categories ----

// Attempts by the place of their category; those without one come last.
class ByCategory {
  public:
    explicit ByCategory(const RunView& run)
        : begins_(run.categories.size() + 2), order_(run.attempts.size()) {
        const auto place = [&](const RunAttempt& attempt) {
            return std::min<std::size_t>(attempt.category, run.categories.size());
        };
        for (const RunAttempt& attempt : run.attempts) ++begins_[place(attempt) + 1];
        std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
        std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
        for (std::size_t n = 0; n < run.attempts.size(); ++n)
            order_[next[place(run.attempts[n])]++] = static_cast<std::uint32_t>(n);
    }
    std::size_t size() const { return begins_.size() - 1; }
    std::vector<std::uint32_t>::const_iterator begin(std::size_t category) const {
        return order_.begin() + static_cast<std::ptrdiff_t>(begins_[category]);
    }
    std::vector<std::uint32_t>::const_iterator end(std::size_t category) const { return begin(category + 1); }

  private:
    std::vector<std::size_t> begins_;
    std::vector<std::uint32_t> order_;
};

// Spreads of attempts of one category, one after the other in the same memory.
class Spreads {
  public:
    explicit Spreads(std::vector<const RunAttempt*> attempts) : attempts_(std::move(attempts)) {}

    // `value`: below 0, it is not recorded.
    template <class Value>
    Spread of(const Value& value) {
        values_.clear();
        for (const RunAttempt* attempt : attempts_)
            if (const double each = value(*attempt); each >= 0) values_.push_back({each, attempt->calls});
        return spread_of(values_);
    }
    // Attempts without an allocation do not count as such that asked for 0.
    template <class Asked, class Used>
    AskedAndUsed of(const Asked& asked, const Used& used) {
        AskedAndUsed both;
        both.asked = of([&](const RunAttempt& each) { return asked(each) > 0 ? asked(each) : -1; });
        both.used = of(used);
        both.percent = of([&](const RunAttempt& each) {
            return asked(each) > 0 && used(each) >= 0 ? 100 * used(each) / asked(each) : -1;
        });
        return both;
    }

  private:
    std::vector<const RunAttempt*> attempts_;
    std::vector<Repeated> values_;
};

void measure(std::vector<const RunAttempt*> attempts, CategoryFigures& figures) {
    Spreads spreads(std::move(attempts));
    figures.wall_seconds =
        spreads.of([](const RunAttempt& each) { return seconds(each.wall_us) / std::max(1U, each.calls); });
    figures.cores =
        spreads.of([](const RunAttempt& each) { return cores_of(each.cores); },
                   [](const RunAttempt& each) {
                       if (each.wall_us <= 0 || each.cpu_us < 0) return -1.0;
                       return static_cast<double>(each.cpu_us) / static_cast<double>(each.wall_us);
                   });
    figures.memory_mb =
        spreads.of([](const RunAttempt& each) { return static_cast<double>(each.memory_mb); },
                   [](const RunAttempt& each) { return static_cast<double>(each.memory_peak_mb); });
    figures.disk_mb =
        spreads.of([](const RunAttempt& each) { return static_cast<double>(each.disk_mb); },
                   [](const RunAttempt& each) { return static_cast<double>(each.disk_peak_mb); });
    figures.bytes_in = spreads.of([](const RunAttempt& each) { return static_cast<double>(each.bytes_in); });
    figures.bytes_out =
        spreads.of([](const RunAttempt& each) { return static_cast<double>(each.bytes_out); });
}

std::vector<FailureCount> most_first(const std::map<FailureKind, std::uint64_t>& counts) {
    std::vector<FailureCount> failures;
    for (const auto& each : counts) failures.push_back({each.first, each.second});
    std::stable_sort(failures.begin(), failures.end(),
                     [](const FailureCount& a, const FailureCount& b) { return a.attempts > b.attempts; });
    return failures;
}

std::vector<CategoryFigures> figures_of_categories(const RunView& run) {
    const ByCategory sorted(run);
    std::vector<CategoryFigures> all;
    for (std::size_t category = 0; category < sorted.size(); ++category) {
        CategoryFigures figures;
        if (category < run.categories.size()) {
            figures.name = run.categories[category].name;
            figures.place = static_cast<std::uint32_t>(category);
        }
        std::map<FailureKind, std::uint64_t> failures;
        std::vector<const RunAttempt*> measured;
        for (auto at = sorted.begin(category); at != sorted.end(category); ++at) {
            const RunAttempt& attempt = run.attempts[*at];
            if (!has_ended(attempt)) figures.running += attempt.calls;
            if (!has_ended(attempt) || attempt.ending == Ending::never_ran) continue;
            figures.attempts += attempt.calls;
            if (attempt.succeeded())
                figures.succeeded += attempt.calls;
            else
                failures[kind_of(attempt)] += attempt.calls;
            if (!ran(attempt)) continue;
            measured.push_back(&attempt);
            figures.core_seconds += held_core_seconds(attempt);
            add_known(figures.used_core_seconds,
                      std::min(seconds(attempt.cpu_us), held_core_seconds(attempt)));
        }
        if (figures.attempts + figures.running == 0) continue;
        figures.failures = most_first(failures);
        measure(std::move(measured), figures);
        all.push_back(std::move(figures));
    }
    std::stable_sort(all.begin(), all.end(), [](const CategoryFigures& a, const CategoryFigures& b) {
        return a.core_seconds > b.core_seconds;
    });
    return all;
}

// ---- hosts ----

struct Successes {
    double wall_seconds = 0;
    std::uint64_t attempts = 0;
    void add(const Successes& other) { wall_seconds += other.wall_seconds, attempts += other.attempts; }
};

class HostTable {
  public:
    explicit HostTable(const RunView& run) : run_(run) {
        std::map<std::string, std::vector<std::uint32_t>> workers;
        for (std::size_t n = 0; n < run.workers.size(); ++n)
            workers[run.workers[n].host].push_back(static_cast<std::uint32_t>(n));
        places_.resize(run.workers.size());
        for (const auto& [name, its] : workers) {
            HostFigures host;
            host.name = name;
            host.workers = its.size();
            std::vector<model::RunWorker> offering;
            for (const std::uint32_t worker : its) {
                places_[worker] = hosts_.size();
                offering.push_back(run.workers[worker]);
            }
            host.offered_core_seconds =
                static_cast<double>(model::offered_by(offering, run)) / 1000 / micros_per_second;
            hosts_.push_back(std::move(host));
        }
    }

    void add(const RunAttempt& attempt) {
        if (attempt.worker >= places_.size() || attempt.ending == Ending::never_ran) return;
        HostFigures& host = hosts_[places_[attempt.worker]];
        if (!has_ended(attempt)) {
            const TimeSpan interval = time_span_of(run_, attempt);
            host.core_seconds += cores_of(attempt.cores) * seconds(interval.end - interval.begin);
            return;
        }
        host.attempts += attempt.calls;
        if (!attempt.succeeded()) host.failed += attempt.calls;
        if (!ran(attempt)) return;
        host.core_seconds += held_core_seconds(attempt);
        add_known(host.used_core_seconds, seconds(attempt.cpu_us));
        if (!attempt.succeeded()) return;
        const Successes successes{seconds(attempt.wall_us), attempt.calls};
        by_category_[attempt.category].add(successes);
        by_both_[{places_[attempt.worker], attempt.category}].add(successes);
    }

    std::vector<HostFigures> take() {
        std::vector<double> expected(hosts_.size());
        std::vector<double> compared(hosts_.size());
        std::vector<Successes> all(hosts_.size());
        for (const auto& [key, own] : by_both_) {
            all[key.first].add(own);
            const Successes& whole = by_category_[key.second];
            const std::uint64_t others = whole.attempts - own.attempts;
            if (others == 0) continue;
            expected[key.first] += (whole.wall_seconds - own.wall_seconds) / static_cast<double>(others) *
                                   static_cast<double>(own.attempts);
            compared[key.first] += own.wall_seconds;
        }
        for (std::size_t n = 0; n < hosts_.size(); ++n) {
            if (all[n].attempts > 0)
                hosts_[n].mean_wall_seconds = all[n].wall_seconds / static_cast<double>(all[n].attempts);
            if (expected[n] > 0) hosts_[n].slowness = compared[n] / expected[n];
        }
        return std::move(hosts_);
    }

  private:
    const RunView& run_;
    std::vector<HostFigures> hosts_;
    std::vector<std::size_t> places_;  // in hosts_, by worker
    std::unordered_map<std::uint32_t, Successes> by_category_;
    std::map<std::pair<std::size_t, std::uint32_t>, Successes> by_both_;
};

// ---- single tasks ----

std::vector<SlowAttempt> slowest_of(const RunView& run, const AttemptTexts& texts) {
    std::vector<const RunAttempt*> some;
    const auto slower = [](const RunAttempt* a, const RunAttempt* b) { return a->wall_us > b->wall_us; };
    for (const RunAttempt& attempt : run.attempts) {
        if (!ran(attempt) || attempt.calls > 1) continue;
        if (some.size() == most_slow && attempt.wall_us <= some.back()->wall_us) continue;
        if (some.size() == most_slow) some.pop_back();
        some.insert(std::upper_bound(some.begin(), some.end(), &attempt, slower), &attempt);
    }
    std::vector<SlowAttempt> slowest;
    for (const RunAttempt* each : some)
        slowest.push_back({each->task, each->line, each->attempt, seconds(each->wall_us),
                           category_of(run, *each), host_of(run, *each),
                           texts.command ? texts.command(*each) : ""});
    return slowest;
}

struct FailedAttempts {
    std::uint64_t count = 0;
    std::vector<const RunAttempt*> examples;
};

// Of different tasks, and rather one without a further attempt: its output is kept.
void note_example(std::vector<const RunAttempt*>& examples, const RunAttempt& attempt) {
    for (const RunAttempt*& each : examples) {
        if (each->task != attempt.task) continue;
        if (attempt.is_final) each = &attempt;
        return;
    }
    if (examples.size() < most_examples) return examples.push_back(&attempt);
    if (!attempt.is_final) return;
    const auto other = std::find_if(examples.begin(), examples.end(),
                                    [](const RunAttempt* each) { return !each->is_final; });
    if (other != examples.end()) *other = &attempt;
}

std::vector<FailureGroup> failures_of(const RunView& run, const AttemptTexts& texts) {
    std::map<FailureKind, FailedAttempts> found;
    for (const RunAttempt& attempt : run.attempts) {
        if (!has_ended(attempt) || attempt.succeeded()) continue;
        FailedAttempts& group = found[kind_of(attempt)];
        group.count += attempt.calls;
        note_example(group.examples, attempt);
    }
    std::vector<std::pair<FailureKind, FailedAttempts>> kinds(found.begin(), found.end());
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    std::vector<FailureGroup> groups;
    for (auto& [kind, failed] : kinds) {
        std::stable_partition(failed.examples.begin(), failed.examples.end(),
                              [](const RunAttempt* each) { return each->is_final; });
        FailureGroup group{kind, failed.count, {}};
        const bool asks = groups.size() < most_told;
        for (const RunAttempt* each : failed.examples)
            group.examples.push_back({each->task, each->line, each->attempt, each->is_final,
                                      category_of(run, *each), host_of(run, *each),
                                      asks && texts.stderr_end ? texts.stderr_end(*each) : "",
                                      asks && texts.command ? texts.command(*each) : ""});
        groups.push_back(std::move(group));
    }
    return groups;
}

}  // namespace

FailureKind kind_of(const RunAttempt& attempt) {
    FailureKind kind{attempt.ending};
    if (attempt.ending == Ending::exited) kind.exit_code = attempt.exit_code;
    if (attempt.ending == Ending::signalled) kind.signal = attempt.signal;
    return kind;
}

std::string describe(const FailureKind& kind) {
    if (kind.ending == Ending::exited || kind.ending == Ending::signalled) {
        engine::model::Outcome outcome;
        outcome.ending = kind.ending;
        outcome.exit_code = kind.exit_code;
        outcome.signal = kind.signal;
        return engine::model::describe(outcome);
    }
    std::string words = engine::model::name_of(kind.ending);
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
}

const std::string& category_of(const RunView& run, const RunAttempt& attempt) {
    return attempt.category < run.categories.size() ? run.categories[attempt.category].name : no_name;
}

const std::string& host_of(const RunView& run, const RunAttempt& attempt) {
    return attempt.worker < run.workers.size() ? run.workers[attempt.worker].host : no_name;
}

TimeSpan time_span_of(const RunView& run, const RunAttempt& attempt) {
    const auto first_known = [](std::initializer_list<WallMicros> times) {
        const auto found =
            std::find_if(times.begin(), times.end(), [](WallMicros time) { return time != 0; });
        return found == times.end() ? WallMicros{0} : *found;
    };
    TimeSpan interval;
    interval.begin =
        std::max(run.begin, first_known({attempt.started, attempt.dispatched, attempt.received}));
    // The wall time of a range is a sum.
    const WallMicros by_wall =
        attempt.started != 0 && attempt.calls == 1 && has_ended(attempt) && attempt.wall_us > 0
            ? attempt.started + attempt.wall_us
            : 0;
    interval.end = std::max(interval.begin, first_known({attempt.ended, by_wall, attempt.received, run.end}));
    return interval;
}

RunFigures figures_of(const RunView& run, const AttemptTexts& texts) {
    RunFigures figures;
    count_tasks(run, figures);
    count_attempts(run, figures);
    figures.tasks_left = tasks_left(run);
    figures.makespan_us = makespan(run);
    if (figures.makespan_us > 0)
        figures.tasks_per_second = static_cast<double>(figures.tasks_succeeded + figures.tasks_failed) /
                                   seconds(figures.makespan_us);
    figures.most_cores = most_cores(run);
    figures.categories = figures_of_categories(run);
    HostTable hosts(run);
    for (const RunAttempt& attempt : run.attempts) hosts.add(attempt);
    figures.hosts = hosts.take();
    figures.slowest = slowest_of(run, texts);
    figures.failures = failures_of(run, texts);
    return figures;
}

}  // namespace wq::views::report
