#include "views/report/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "views/report/amounts.h"

namespace wq::views::report {

namespace {

using engine::model::Ending;
using model::AccountLine;

constexpr double least_share = 0.05;  // of the core time; less is not worth a sentence
constexpr double least_offered = 60;  // core-seconds; of a shorter run, nothing is worth one

struct Advice {
    double core_seconds = 0;  // what it is about
    std::string sentence;
};

// A line of the account whose remedy is the same in every run. `remedy`: after "N % of the core time ".
struct LineAdvice {
    AccountLine line;
    const char* remedy;
};
constexpr std::array line_advice{
    LineAdvice{
        AccountLine::waited_for_files,
        "was spent by tasks that waited for a disk or a file server: work in $TMPDIR, or run fewer such "
        "tasks at once (concurrent=)"},
    LineAdvice{AccountLine::files_in,
               "was spent until input files were there: cache inputs that tasks share, or use a file system "
               "that workers see"},
    LineAdvice{AccountLine::files_out,
               "was spent while output files were stored: keep them on a file system that workers see"},
    LineAdvice{AccountLine::start_and_report,
               "was spent to start attempts and report their ends: join short tasks into longer ones"},
    LineAdvice{AccountLine::starting,
               "passed before workers had joined: start the manager first, and fewer but larger batch jobs"},
    LineAdvice{AccountLine::disconnected,
               "passed while workers had lost their manager: see the run's log for the reason"},
    LineAdvice{AccountLine::excluded,
               "was free on hosts that got no tasks since tasks failed there: look at these hosts"},
    LineAdvice{AccountLine::draining,
               "was free on workers that were about to leave: longer batch jobs, or shorter tasks"},
    LineAdvice{AccountLine::waits_for_tasks,
               "was free while tasks waited for earlier tasks: fewer barriers, or smaller groups"},
    LineAdvice{AccountLine::waits_for_limits,
               "was free while limits kept tasks from running: raise --jobs or concurrent="},
    LineAdvice{AccountLine::waits_for_program,
               "was free while the list or the program had not brought tasks: submit earlier, or use fewer "
               "workers"},
    LineAdvice{AccountLine::after_the_end,
               "was offered after all tasks had ended: let workers leave earlier (a shorter idle timeout)"},
    LineAdvice{AccountLine::dispatch,
               "was free although a ready task would have fitted: join short tasks into longer ones"},
    LineAdvice{AccountLine::packing_memory,
               "was free for lack of free memory: use workers with more memory for each core"},
    LineAdvice{AccountLine::packing_gpus,
               "was free for lack of a free GPU: use workers with more GPUs for each core"},
    LineAdvice{AccountLine::packing_disk,
               "was free for lack of free disk: ask for less disk, or use workers with more"},
    LineAdvice{AccountLine::packing_coprocesses,
               "was free for lack of a free coprocess: start more coprocesses at each worker"},
    LineAdvice{AccountLine::packing_cores,
               "was free in pieces too small for any ready task: choose cores= so that it divides a worker's "
               "cores"},
    LineAdvice{AccountLine::fits_nowhere,
               "was free on workers that no ready task fits: use larger workers, or ask for less"},
};

class Advisor {
  public:
    explicit Advisor(const ReportedRun& reported)
        : run_(reported.run), figures_(reported.figures), account_(reported.account) {}

    std::vector<std::string> sentences() {
        if (account_.offered > 0 && offered() < least_offered) return {};
        for (const LineAdvice& each : line_advice)
            add(seconds_of(each.line), share_of(seconds_of(each.line)) + each.remedy + ".");
        for (const CategoryFigures& category : figures_.categories) {
            advise_cores(category);
            advise_memory(category);
        }
        advise_idle();
        advise_held_memory();
        advise_tail();
        advise_lost();
        advise_hosts();
        std::stable_sort(found_.begin(), found_.end(),
                         [](const Advice& a, const Advice& b) { return a.core_seconds > b.core_seconds; });
        std::vector<std::string> sentences;
        for (Advice& each : found_)
            if (sentences.size() < most_advice) sentences.push_back(std::move(each.sentence));
        return sentences;
    }

  private:
    double seconds_of(AccountLine line) const { return core_seconds(account_.at(line)); }
    double offered() const { return core_seconds(account_.offered); }
    std::string share_of(double core_seconds) const {
        return decimal(offered() > 0 ? 100 * core_seconds / offered() : 0, 0) + " % of the core time ";
    }
    void add(double core_seconds, std::string sentence) {
        if (core_seconds > 0 && core_seconds >= least_share * offered())
            found_.push_back({core_seconds, std::move(sentence)});
    }

    // The other 5 % of its attempts may be busier: the sentence says so.
    void advise_cores(const CategoryFigures& category) {
        if (category.cores.asked.count == 0 || category.cores.used.count == 0) return;
        const double asked = category.cores.asked.median;
        const double busy = category.cores.used.percentile_95;
        const double enough = std::max(1.0, std::ceil(busy - 0.1));
        if (asked < 2 || enough > asked / 2 + 0.1) return;
        const double idle = category.core_seconds - category.used_core_seconds;
        add(idle, shown_name(category.name, longest_name) + " got " + short_decimal(asked) +
                      " cores and kept " + short_decimal(category.cores.used.median) + " busy (95 % of its " +
                      "attempts at most " + short_decimal(busy) +
                      "): ask for cores=" + short_decimal(enough) + ", and more tasks run at once.");
        advised_idle_ += idle;
    }

    // What tasks left idle, except those that have too many cores.
    void advise_idle() {
        const double idle = seconds_of(AccountLine::idle_in_tasks) - advised_idle_;
        add(idle, share_of(idle) +
                      "was allocated to tasks that did not use it: find what they wait for, or ask "
                      "for less than a core (cores=0.5).");
    }

    // Memory is worth a sentence where it, not cores, limits how many tasks run at once on some worker.
    void advise_memory(const CategoryFigures& category) {
        if (category.memory_mb.asked.count == 0 || category.memory_mb.used.count == 0) return;
        const double asked = category.memory_mb.asked.median;
        const double used = category.memory_mb.used.most;
        if (asked < 2 * used || asked - used < least_memory_mb || category.cores.asked.count == 0) return;
        if (has_memory_) return;  // the same core time, and a category with less of it
        const double cores = category.cores.asked.median;
        const bool is_short =
            std::any_of(run_.workers.begin(), run_.workers.end(), [&](const model::RunWorker& worker) {
                return worker.memory_mb > 0 &&
                       std::floor(static_cast<double>(worker.memory_mb) / asked) <
                           std::floor(static_cast<double>(worker.cores) / 1000 / cores);
            });
        if (!is_short) return;
        const double packing =
            seconds_of(AccountLine::packing_memory_held) + seconds_of(AccountLine::unknown);
        constexpr double step = 256;  // a little above what was used
        const auto enough = static_cast<std::int64_t>(std::ceil(used * 1.2 / step) * step);
        add(packing, shown_name(category.name, longest_name) + " got " + memory_text(asked) +
                         " memory and used at most " + memory_text(used) +
                         ": ask for memory=" + std::to_string(enough) + "M, and more tasks fit on a worker.");
        has_memory_ = true;
    }

    void advise_held_memory() {
        const double held = seconds_of(AccountLine::packing_memory_held);
        if (!has_memory_)
            add(held, share_of(held) +
                          "was free while tasks held memory that they did not use: ask for less "
                          "(memory=), as the categories show.");
    }

    void advise_tail() {
        const double tail = seconds_of(AccountLine::tail);
        std::string longest;
        if (!figures_.slowest.empty())
            longest = ", such as task " + std::to_string(figures_.slowest.front().task) + " (" +
                      duration_text(figures_.slowest.front().wall_seconds) + ")";
        add(tail, share_of(tail) + "was free while the last tasks ran (tail): begin with the longest tasks" +
                      longest + ", or use fewer workers at the end.");
    }

    void advise_lost() {
        const double lost = seconds_of(AccountLine::lost);
        const auto most = std::max_element(account_.lost_by_ending.begin(), account_.lost_by_ending.end());
        const auto ending = static_cast<Ending>(most - account_.lost_by_ending.begin());
        add(lost, share_of(lost) + "went into attempts that do not count, most of it: " + lost_why(ending));
    }

    static std::string lost_why(Ending ending) {
        switch (ending) {
            case Ending::exited:
                return "second copies, or tasks that returned an error; see the failures.";
            case Ending::timed_out:
                return "time limits. Raise --timeout, or cut these tasks.";
            case Ending::out_of_memory:
            case Ending::exhausted:
                return "exceeded limits. Ask for as much as the category uses, from the start.";
            case Ending::worker_lost:
                return "workers that were lost. Give their batch jobs more time, or use shorter tasks.";
            case Ending::too_slow:
                return "slow attempts that were killed. Look at their hosts.";
            default:
                return describe(FailureKind{ending}) + "; see the failures.";
        }
    }

    void advise_hosts() {
        constexpr double clearly = 1.3;
        constexpr std::uint64_t least_attempts = 5;
        const HostFigures* slowest = nullptr;
        for (const HostFigures& host : figures_.hosts)
            if (host.attempts - host.failed >= least_attempts && host.slowness >= clearly &&
                (slowest == nullptr || host.slowness > slowest->slowness))
                slowest = &host;
        if (slowest == nullptr) return;
        add(slowest->core_seconds * (1 - 1 / slowest->slowness),
            "Tasks took " + short_decimal(slowest->slowness) + " times as long on " +
                shown_name(slowest->name, longest_name) +
                " as the same categories on other hosts: look at it.");
    }

    static constexpr std::size_t longest_name = 24;
    static constexpr double least_memory_mb = 256;

    const model::RunView& run_;
    const RunFigures& figures_;
    const model::Account& account_;
    std::vector<Advice> found_;
    double advised_idle_ = 0;
    bool has_memory_ = false;
};

}  // namespace

std::vector<std::string> advice_of(const ReportedRun& reported) {
    return Advisor(reported).sentences();
}

}  // namespace wq::views::report
