#include "views/transactions_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace wq::views {

namespace {

std::string_view take_word(std::string_view& rest) {
    const auto begin = rest.find_first_not_of(" \t\r");
    rest.remove_prefix(std::min(begin, rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
    rest.remove_prefix(word.size());
    return word;
}

template <class Number>
bool read_whole(std::string_view word, Number& value) {
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return stop == word.data() + word.size() && error == std::errc{};
}

// Microseconds of a number of seconds; 0: it is none, or more than a hundred years.
std::int64_t micros_of(std::string_view seconds) {
    double value = 0;
    if (!read_whole(seconds, value) || !(value > 0 && value < 3.2e9)) return 0;
    return static_cast<std::int64_t>(value * 1e6);
}

// `"NAME":[NUMBER,...` among measured values; empty: it is not there.
std::string_view measured(std::string_view json, std::string_view name) {
    const std::string key = "\"" + std::string(name) + "\":[";
    const auto at = json.find(key);
    if (at == std::string_view::npos) return {};
    json.remove_prefix(at + key.size());
    return json.substr(0, json.find_first_of(",]"));
}

// "17", or "1-31400" for calls of a range.
bool read_tasks(std::string_view word, std::uint64_t& first, std::uint64_t& last) {
    const auto dash = word.find('-');
    if (!read_whole(word.substr(0, dash), first)) return false;
    last = first;
    return dash == std::string_view::npos || read_whole(word.substr(dash + 1), last);
}

// The words of a result, for people.
std::string outcome_of(std::string_view result, std::string_view code) {
    if (result == "SUCCESS") return code == "0" ? std::string(succeeded) : "exit " + std::string(code);
    std::string text;
    for (const char c : result)
        text += c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result == "SIGNAL" ? text + " " + std::string(code) : text;
}

// Files that go to or from an attempt.
struct Transfers {
    WallMicros begin = 0;  // 0: there are none
    WallMicros end = 0;
    void add(WallMicros when, std::int64_t took) {
        begin = begin == 0 ? when - took : std::min(begin, when - took);
        end = std::max(end, when);
    }
};

// An attempt that has been dispatched. A task has several if the manager started a copy of it.
struct Running {
    std::uint32_t worker = 0;
    WallMicros since = 0;
    WallMicros returned = 0;  // its process had ended; 0: not yet
};

struct Task {
    std::uint32_t category = 0;
    WallMicros waiting = 0;
    Transfers input, output;
    std::vector<Running> running;
    bool ran = false;        // at least once
    bool retrieved = false;  // so DONE tells of no other attempt
};

struct Range {
    std::uint64_t first, last;
    std::uint32_t category;
};

class Reader {
  public:
    explicit Reader(const std::string& name) : name_(name) {}

    Status take(std::string_view line) {
        ++line_;
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty() || line.front() == '#') return success();
        std::uint64_t pid = 0;
        WallMicros now = 0;
        if (!read_whole(take_word(line), now) || now < 0 || now > latest || !read_whole(take_word(line), pid))
            return records_ == 0 ? no_transactions()
                                 : refused("no record: it does not begin with a time and the manager's pid");
        now_ = std::max(now_, now);  // ranks tell some events later
        const std::string_view subject = take_word(line);
        if (subject == "TASK") return take_task(line, now);
        if (subject == "WORKER") return take_worker(line, now);
        if (subject == "TRANSFER") return take_transfer(line, now);
        if (subject == "MANAGER" && take_word(line) == "START") end_session(last_, "lost");
        if (subject.empty()) return refused("a record without a subject");
        last_ = now_;
        records_ += 1;
        return success();
    }

    Result<Attempts> result() {
        if (records_ == 0) return no_transactions();
        end_session(now_, "running");
        finish(all_);
        return std::move(all_);
    }

  private:
    static constexpr WallMicros latest = 1LL << 60;

    Error no_transactions() const {
        return {ExitCode::bad_input, name_ +
                                         ": no transactions: neither a stats.h5 nor a log with lines such as "
                                         "`1599244364466426 16444 MANAGER START`"};
    }
    Error refused(std::string_view why) const {
        return {ExitCode::bad_input, name_ + ":" + std::to_string(line_) + ": " + std::string(why)};
    }

    std::uint32_t worker_at(std::string_view address, WallMicros now) {
        const auto [at, is_new] = here_.try_emplace(std::string(address), 0);
        if (is_new) {
            at->second = static_cast<std::uint32_t>(all_.workers.size());
            all_.workers.push_back({at->first, now, 0, 0});
        }
        return at->second;
    }

    void leave(std::string_view address, WallMicros now) {
        const auto at = here_.find(std::string(address));
        if (at == here_.end()) return;  // a status client
        all_.workers[at->second].left = now;
        here_.erase(at);
    }

    Status take_worker(std::string_view line, WallMicros now) {
        take_word(line);  // its id
        const std::string_view address = take_word(line);
        const std::string_view what = take_word(line);
        if (address.empty()) return refused("a WORKER record without an address");
        if (what == "CONNECTION") {
            leave(address, now);  // the end of the connection before was not recorded
            worker_at(address, now);
        } else if (what == "DISCONNECTION") {
            leave(address, now);
        }
        return recorded();
    }

    Status take_transfer(std::string_view line, WallMicros now) {
        const std::string_view direction = take_word(line);
        std::uint64_t number = 0;
        if (!read_whole(take_word(line), number)) return refused("a TRANSFER record without a task");
        take_word(line);  // whether it is cached
        take_word(line);  // size
        const std::int64_t took = micros_of(take_word(line));
        const auto task = tasks_.find(number);
        if (task == tasks_.end()) return recorded();
        (direction == "INPUT" ? task->second.input : task->second.output).add(now, took);
        return recorded();
    }

    Status take_task(std::string_view line, WallMicros now) {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        if (!read_tasks(take_word(line), first, last)) return refused("a TASK record without a number");
        const std::string_view state = take_word(line);
        const std::string_view word = take_word(line);
        const bool needs_word =
            state == "WAITING" || state == "RUNNING" || state == "DONE" || state == "RETRIEVED";
        if (state.empty() || (needs_word && word.empty())) return refused("a TASK record that is cut off");
        if (state == "WAITING" && last > first) {
            ranges_.push_back({first, last, categories_.place_of(word)});
        } else if (state == "WAITING") {
            begin_waiting(first, word, now);
        } else if (state == "RUNNING") {
            Task& task = task_at(first, now);
            task.running.push_back({worker_at(word, now), now, 0});
            task.ran = true;
        } else if (state == "WAITING_RETRIEVAL") {
            mark_returned(first, word, now);
        } else if (state == "RETRIEVED" || state == "DONE") {
            const std::string outcome = outcome_of(word, take_word(line));
            if (!measured(line, "tasks").empty())
                take_calls(first, outcome, line, now);
            else
                take_end(first, outcome, line, now, state == "DONE" ? Ends::task : Ends::attempt);
        } else if (state == "CANCELED" || state == "CANCELLED") {
            take_end(first, "cancelled", {}, now, Ends::task);
        }
        return recorded();
    }

    Status recorded() {
        last_ = now_;
        records_ += 1;
        return success();
    }

    // Of one that did not wait by itself: it is a call of a range, or the log begins in the middle of a run.
    std::uint32_t category_of(std::uint64_t number) {
        for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range)
            if (range->first <= number && number <= range->last) return range->category;
        return categories_.place_of("unknown");
    }

    Task& task_at(std::uint64_t number, WallMicros now) {
        const auto [at, is_new] = tasks_.try_emplace(number);
        if (is_new) {
            at->second.waiting = now;
            at->second.category = category_of(number);
        }
        return at->second;
    }

    // While it runs: it is lost with its worker, or was not started there.
    void begin_waiting(std::uint64_t number, std::string_view category, WallMicros now) {
        Task& task = tasks_[number];
        for (const Running& running : task.running) close(number, task, running, "lost", {}, now);
        const bool ran = task.ran;
        task = Task{categories_.place_of(category), now, {}, {}, {}, ran, false};
    }

    void mark_returned(std::uint64_t number, std::string_view address, WallMicros now) {
        const auto task = tasks_.find(number);
        if (task == tasks_.end()) return;
        const auto at = here_.find(std::string(address));
        for (Running& running : task->second.running)
            if (at == here_.end() || running.worker == at->second) running.returned = now;
    }

    enum class Ends : std::uint8_t { attempt, task };

    // Of several copies, the one ended that has returned.
    void take_end(std::uint64_t number, std::string_view outcome, std::string_view json, WallMicros now,
                  Ends what) {
        const auto found = tasks_.find(number);
        if (found == tasks_.end()) return;
        Task& task = found->second;
        auto ended = std::find_if(task.running.begin(), task.running.end(),
                                  [](const Running& running) { return running.returned != 0; });
        if (ended == task.running.end() && !task.running.empty()) ended = task.running.begin();
        if (ended != task.running.end() && !task.retrieved) {
            close(number, task, *ended, outcome, json, now);
            task.running.erase(ended);
        }
        task.retrieved = true;
        if (what == Ends::attempt) return;
        for (const Running& copy : task.running) close(number, task, copy, "not needed", {}, now);
        if (!task.ran) all_.never_ran += 1;
        tasks_.erase(found);
    }

    // Calls of a range: the log has the sum of their times, and a line about once a second.
    void take_calls(std::uint64_t first, std::string_view outcome, std::string_view line, WallMicros now) {
        Attempt attempt;
        attempt.task = first;
        read_whole(measured(line, "tasks"), attempt.calls);
        const std::int64_t wall = std::min(micros_of(measured(line, "wall_time")), micros_per_second);
        const std::string_view address = line.substr(line.find_last_of(' ') + 1);
        attempt.category = category_of(first);
        attempt.worker = worker_at(address, now);
        attempt.outcome = outcomes_.place_of(outcome);
        attempt.waiting = attempt.input = attempt.started = now - wall;
        attempt.output = attempt.ended = now;
        all_.attempts.push_back(attempt);
    }

    void close(std::uint64_t number, const Task& task, const Running& running, std::string_view outcome,
               std::string_view json, WallMicros now) {
        Attempt attempt;
        attempt.task = number;
        attempt.category = task.category;
        attempt.worker = running.worker;
        attempt.outcome = outcomes_.place_of(outcome);
        attempt.waiting = task.waiting;
        attempt.output = running.returned != 0 ? running.returned : now;
        if (task.output.begin > running.since) attempt.output = std::min(attempt.output, task.output.begin);
        attempt.ended = task.output.begin != 0 ? now : attempt.output;
        // RUNNING says when it was dispatched; it may have waited at the worker until another had ended.
        const std::int64_t wall = micros_of(measured(json, "wall_time"));
        attempt.started = wall > 0 ? std::max(running.since, attempt.output - wall) : running.since;
        place_input(attempt, task.input.begin, task.input.end);
        all_.attempts.push_back(attempt);
    }

    // A manager that was killed wrote no ends.
    void end_session(WallMicros when, std::string_view outcome) {
        for (auto& [number, task] : tasks_) {
            for (const Running& running : task.running) close(number, task, running, outcome, {}, when);
            if (!task.ran && outcome == "running") all_.never_ran += 1;
        }
        tasks_.clear();
        for (const auto& [address, worker] : here_) all_.workers[worker].left = when;
        here_.clear();
    }

    const std::string& name_;
    Attempts all_;
    Names categories_{all_.categories};
    Names outcomes_{all_.outcomes};
    std::unordered_map<std::uint64_t, Task> tasks_;        // not ended yet
    std::unordered_map<std::string, std::uint32_t> here_;  // connected workers, by address
    std::vector<Range> ranges_;                            // of calls
    std::size_t line_ = 0;
    std::size_t records_ = 0;
    WallMicros now_ = 0;   // the latest time so far
    WallMicros last_ = 0;  // the same before this line
};

}  // namespace

Result<Attempts> read_transactions(std::string_view text, const std::string& name) {
    Reader reader(name);
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos) break;  // torn
        if (auto taken = reader.take(text.substr(0, end)); !taken) return taken.error();
        text.remove_prefix(end + 1);
    }
    return reader.result();
}

}  // namespace wq::views
