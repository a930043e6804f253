#include "shared_list/text/rehearsal.h"

#include <algorithm>
#include <utility>

#include "engine/tasklist/shell_scan.h"
#include "shared_list/text/marked_line.h"

namespace wq::shared_list::text {

namespace {

std::uint64_t last_in(const std::set<std::uint64_t>& numbers, std::uint64_t before) {
    const auto next = numbers.lower_bound(before);
    return next == numbers.begin() ? 0 : *std::prev(next);
}

void take_smaller(std::uint64_t& number, std::uint64_t other) {
    if (other != 0 && (number == 0 || other < number)) number = other;
}

// Calls `use` with the sets of a worker.
template <class Free, class Use>
void for_both(const Free& free, WorkerId worker, Use use) {
    use(free.of_any);
    if (const auto own = free.of_worker.find(worker); own != free.of_worker.end()) use(own->second);
}

}  // namespace

void ReadyLines::Free::add(std::uint64_t number, const MarkedLine& line) {
    if (line.workers.empty()) of_any.insert(number);
    for (const WorkerId worker : line.workers) of_worker[worker].insert(number);
}

void ReadyLines::Free::remove(std::uint64_t number, const MarkedLine& line) {
    of_any.erase(number);
    for (const WorkerId worker : line.workers) of_worker[worker].erase(number);
}

std::uint64_t ReadyLines::Free::last_before(std::uint64_t number, WorkerId worker) const {
    std::uint64_t last = 0;
    for_both(*this, worker, [&](const Numbers& numbers) { last = std::max(last, last_in(numbers, number)); });
    return last;
}

ReadyLines::ReadyLines(const Document& list) : list_(list) {
    for (const std::uint64_t number : list.live_lines())
        if (list.line(number).kind != LineKind::environment) add_undone(number);
    resolve({list.live_lines().begin(), list.live_lines().end()});
}

void ReadyLines::add_undone(std::uint64_t number) {
    undone_.insert(number);
    for (const auto& [name, sequential] : list_.line(number).groups) {
        if (name.empty()) {
            barriers_.insert(number);
            continue;
        }
        Group& group = groups_[name];
        group.members.insert(number);
        if (sequential) group.sequential.insert(number);
    }
}

void ReadyLines::remove_undone(std::uint64_t number) {
    undone_.erase(number);
    barriers_.erase(number);
    for (const auto& membership : list_.line(number).groups) {
        const auto group = groups_.find(membership.name);
        if (group == groups_.end()) continue;
        group->second.members.erase(number);
        group->second.sequential.erase(number);
    }
}

// The last one above: most often, it ends last.
std::uint64_t ReadyLines::blocker(std::uint64_t number) const {
    std::uint64_t last = last_in(barriers_, number);
    for (const auto& [name, sequential] : list_.line(number).groups) {
        if (name.empty()) {
            last = std::max(last, last_in(undone_, number));
            continue;
        }
        const auto group = groups_.find(name);
        if (group == groups_.end()) continue;
        last = std::max(last, last_in(sequential ? group->second.members : group->second.sequential, number));
    }
    return last;
}

void ReadyLines::resolve(std::vector<std::uint64_t> numbers) {
    while (!numbers.empty()) {
        const std::uint64_t number = numbers.back();
        numbers.pop_back();
        const MarkedLine& line = list_.line(number);
        if (const std::uint64_t by = blocker(number); by != 0) {
            waiting_[by].push_back(number);
        } else if (line.kind == LineKind::environment) {
            environment_.add(number, line);
        } else if (line.kind == LineKind::barrier) {  // nothing above it waits or runs
            remove_undone(number);
            if (auto freed = waiting_.extract(number))
                numbers.insert(numbers.end(), freed.mapped().begin(), freed.mapped().end());
        } else {
            tasks_.add(number, line);
        }
    }
}

void ReadyLines::begin(std::uint64_t number) {
    tasks_.remove(number, list_.line(number));
}

void ReadyLines::end(std::uint64_t number) {
    remove_undone(number);
    if (auto freed = waiting_.extract(number)) resolve(std::move(freed.mapped()));
}

std::uint64_t ReadyLines::first_task(WorkerId worker) const {
    std::uint64_t first = 0;
    for_both(tasks_, worker, [&](const Numbers& numbers) {
        const auto fits = std::ranges::find_if(
            numbers, [&](std::uint64_t number) { return !has_tried(list_.line(number), worker); });
        if (fits != numbers.end()) take_smaller(first, *fits);
    });
    return first;
}

std::uint64_t ReadyLines::first_environment(WorkerId worker, std::uint64_t after) const {
    std::uint64_t first = 0;
    for_both(environment_, worker, [&](const Numbers& numbers) {
        const auto next = numbers.upper_bound(after);
        if (next != numbers.end()) take_smaller(first, *next);
    });
    return first;
}

std::optional<Choice> ReadyLines::choose(WorkerId worker, std::uint64_t last) const {
    const std::uint64_t task = first_task(worker);
    const std::uint64_t environment = first_environment(worker, last);
    if (environment != 0 && (task == 0 || environment < task)) return Choice{environment, true, 0};
    if (task == 0) return std::nullopt;
    return Choice{task, false, task < last ? environment_.last_before(task, worker) : 0};
}

namespace {

constexpr const char* stamp = "01-01 00:00:00";

bool ends_word(std::string_view rest) {
    return rest.empty() || std::string_view(" \t;&|)#").find(rest.front()) != std::string_view::npos;
}

// The value of `NAME=VALUE` in a command, without its quotes; nullopt: it does not set it.
std::optional<std::string> value_of(std::string_view name, const std::string& command) {
    const std::string plain = engine::tasklist::scan_shell(command).plain;
    for (std::size_t at = plain.find(name); at != std::string::npos; at = plain.find(name, at + 1)) {
        if (at != 0 && std::string_view(" \t;&|({").find(plain[at - 1]) == std::string_view::npos) continue;
        std::string_view rest = std::string_view(command).substr(at + name.size());
        if (!take_text(rest, "=")) continue;
        const bool quoted = !rest.empty() && (rest.front() == '"' || rest.front() == '\'');
        if (!quoted) return std::string(rest.substr(0, rest.find_first_of(" \t;&|#")));
        const char quote = rest.front();
        rest.remove_prefix(1);
        return std::string(rest.substr(0, rest.find(quote)));
    }
    return std::nullopt;
}

// Where a worker goes after this `#!` line, as far as can be read: "" it ends; nullopt: it stays.
std::optional<std::string> next_list(const std::string& command) {
    std::string_view first = trim(command);
    if (take_text(first, "exit") && ends_word(first)) return "";
    for (const std::string_view name : {"newtask", "jumpto"}) {
        if (auto value = value_of(name, command)) return value;
    }
    return std::nullopt;
}

class Rehearser {
  public:
    Rehearser(const Document& list, WorkerId workers)
        : list_(with_ended(list)), ready_(list_), workers_(workers), places_(workers) {}

    Rehearsal run() {
        for (std::uint64_t step = 1; take_turns(step); ++step) end_all();
        find_never();
        return std::move(result_);
    }

  private:
    struct WorkerTurn {
        std::uint64_t last = 0;
        bool left = false;
    };

    // Lines that run succeed, too.
    static Document with_ended(Document list) {
        const std::set<std::uint64_t> live = list.live_lines();
        for (const std::uint64_t number : live) {
            const MarkedLine& line = list.line(number);
            if (line.kind != LineKind::running) continue;
            const LineTry& last = line.tries.back();
            list.apply(End{number, last.worker, last.begun, stamp, TryEnd::ok, 0, line.command});
        }
        return list;
    }

    bool take_turns(std::uint64_t step) {
        const std::size_t before = result_.runs.size();
        for (WorkerId id = 0; id < workers_; ++id) take_turn(step, id);
        return result_.runs.size() > before;
    }

    // `#!` lines take no time.
    void take_turn(std::uint64_t step, WorkerId id) {
        WorkerTurn& place = places_[id];
        while (!place.left) {
            const auto choice = ready_.choose(id, place.last);
            if (!choice) return;
            place.last = choice->number;
            if (choice->replay != 0) result_.runs.push_back({step, id, choice->replay, true});
            result_.runs.push_back({step, id, choice->number, choice->environment});
            const MarkedLine& line = list_.line(choice->number);
            if (!choice->environment) {
                running_.push_back(Take{choice->number, id, stamp, std::string(searched_text(line.text))});
                ready_.begin(choice->number);
                list_.apply(running_.back());
                return;
            }
            if (const auto next = next_list(line.command)) {
                place.left = true;
                result_.leaves.push_back({id, choice->number, *next});
            }
        }
    }

    void end_all() {
        for (const Take& take : running_) {
            list_.apply(End{take.number, take.worker, take.stamp, stamp, TryEnd::ok, 0,
                            list_.line(take.number).command});
            ready_.end(take.number);
        }
        running_.clear();
    }

    void find_never() {
        blocked_ = blocked_lines(list_);
        for (const std::uint64_t number : list_.live_lines()) {
            const MarkedLine& line = list_.line(number);
            if (line.kind == LineKind::open) result_.never.push_back({number, why(number, line)});
        }
    }

    std::string why(std::uint64_t number, const MarkedLine& line) const {
        if (std::ranges::find(line.workers, no_worker) != line.workers.end()) return misaddressed_text;
        const bool allowed = line.workers.empty() ||
                             std::ranges::any_of(line.workers, [&](WorkerId id) { return id < workers_; });
        if (!allowed)
            return "it needs worker " + std::to_string(line.workers.front()) + ", and the last one is " +
                   std::to_string(workers_ == 0 ? 0 : workers_ - 1);
        for (const Leaves& leaves : result_.leaves) {
            const bool may =
                line.workers.empty() || std::ranges::find(line.workers, leaves.worker) != line.workers.end();
            if (may && leaves.number < number && all_left(line))
                return "the workers that could run it leave at line " + std::to_string(leaves.number);
        }
        if (const auto block = blocked_.find(number); block != blocked_.end())
            return "it waits for lines that never end, first line " + std::to_string(block->second.by);
        return "it failed on all workers; more workers, or --reset, let it run again";
    }

    bool all_left(const MarkedLine& line) const {
        for (WorkerId id = 0; id < workers_; ++id) {
            const bool may =
                line.workers.empty() || std::ranges::find(line.workers, id) != line.workers.end();
            if (may && !places_[id].left) return false;
        }
        return true;
    }

    Document list_;
    ReadyLines ready_;
    WorkerId workers_;
    std::vector<WorkerTurn> places_;
    std::map<std::uint64_t, BlockedBy> blocked_;
    std::vector<Take> running_;
    Rehearsal result_;
};

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

}  // namespace

Rehearsal rehearse(const Document& list, WorkerId workers) {
    return Rehearser(list, workers).run();
}

WorkerId workers_named(const Document& list) {
    std::int64_t most = std::max<std::int64_t>(list.last_worker(), 0);
    for (const std::uint64_t number : list.live_lines()) {
        for (const WorkerId id : list.line(number).workers) {
            if (id != no_worker) most = std::max<std::int64_t>(most, id);
        }
    }
    return static_cast<WorkerId>(std::min<std::int64_t>(most, 999)) + 1;
}

std::string rehearsal_text(const Document& list, const Rehearsal& rehearsal) {
    std::string text = "  STEP  WORKER    LINE  COMMAND\n";
    for (const Rehearsed& run : rehearsal.runs) {
        text += padded(std::to_string(run.step), 6) + padded(std::to_string(run.worker), 8) +
                padded(std::to_string(run.number), 8) + "  " + list.line(run.number).command + "\n";
    }
    for (const Leaves& leaves : rehearsal.leaves) {
        text += "worker " + std::to_string(leaves.worker) + " leaves at line " +
                std::to_string(leaves.number) + (leaves.next.empty() ? "" : ", to " + leaves.next) + "\n";
    }
    for (const NeverRuns& never : rehearsal.never)
        text += "line " + std::to_string(never.number) + " never runs: " + never.why + "\n";
    return text;
}

}  // namespace wq::shared_list::text
