#include "views/model/transactions_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "views/model/names.h"

namespace wq::views::model {

void LoggedFiles::add(WallMicros when, std::int64_t took, std::int64_t size) {
    begin = begin == 0 ? when - took : std::min(begin, when - took);
    end = std::max(end, when);
    constexpr std::int64_t most = std::int64_t{1} << 60;  // a damaged log may say anything
    bytes = std::min(bytes + std::clamp<std::int64_t>(size, 0, most), most);
}

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

}  // namespace

std::int64_t logged_micros(std::string_view seconds) {
    double value = 0;
    if (!read_whole(seconds, value) || !(value > 0 && value < 3.2e9)) return 0;
    return static_cast<std::int64_t>(value * 1e6);
}

std::string_view logged_amount(std::string_view json, std::string_view name) {
    for (auto at = json.find(name); at != std::string_view::npos; at = json.find(name, at + 1)) {
        std::string_view rest = json.substr(at + name.size());
        if (at == 0 || json[at - 1] != '"' || !rest.starts_with("\":[")) continue;
        rest.remove_prefix(3);
        return rest.substr(0, rest.find_first_of(",]"));
    }
    return {};
}

namespace {

// Bytes of a size in MB of 2^20 bytes.
std::int64_t bytes_of(std::string_view megabytes) {
    double value = 0;
    if (!read_whole(megabytes, value) || !(value > 0 && value < 1e12)) return 0;
    return std::llround(value * 1024 * 1024);
}

// "17", or "1-31400" for calls of a range.
bool read_tasks(std::string_view word, std::uint64_t& first, std::uint64_t& last) {
    const auto dash = word.find('-');
    if (!read_whole(word.substr(0, dash), first)) return false;
    last = first;
    return dash == std::string_view::npos || read_whole(word.substr(dash + 1), last);
}

// An attempt that has been dispatched. A task has several if the manager started a copy of it.
struct Running {
    std::uint32_t worker = 0;
    std::uint32_t attempt = 1;
    WallMicros since = 0;
    WallMicros returned = 0;  // its process had ended; 0: not yet
    std::string_view allocated;
};

struct Task {
    std::uint32_t category = 0;
    WallMicros waiting = 0;
    std::string_view asked;
    LoggedFiles input, output;
    std::vector<Running> running;
    std::uint32_t attempts = 0;
    bool retrieved = false;  // so DONE tells of no other attempt
};

// Ranges of calls, by their first numbers. Where two overlap, the later one counts.
class Ranges {
  public:
    void add(std::uint64_t first, std::uint64_t last, std::uint32_t category) {
        auto at = ranges_.lower_bound(first);
        if (at != ranges_.begin()) at = std::prev(at);
        while (at != ranges_.end() && at->first <= last) {
            const auto [begin, old] = *at;
            if (old.last < first) {
                ++at;
                continue;
            }
            at = ranges_.erase(at);
            if (begin < first) ranges_[begin] = {first - 1, old.category};
            if (old.last > last) ranges_[last + 1] = old;
        }
        ranges_[first] = {last, category};
    }
    std::optional<std::uint32_t> category_of(std::uint64_t number) const {
        const auto next = ranges_.upper_bound(number);
        if (next == ranges_.begin() || std::prev(next)->second.last < number) return {};
        return std::prev(next)->second.category;
    }

  private:
    struct Rest {
        std::uint64_t last = 0;
        std::uint32_t category = 0;
    };
    std::map<std::uint64_t, Rest> ranges_;
};

class Parser {
  public:
    Parser(const std::string& name, TransactionSink& sink) : name_(name), sink_(sink) {}

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
        if (subject == "MANAGER" && take_word(line) == "START") {
            end_session(last_, "lost");
            sink_.session(now);
        }
        if (subject.empty()) return refused("a record without a subject");
        return recorded();
    }

    Result<LoggedTime> result() {
        if (records_ == 0) return no_transactions();
        end_session(now_, "running");
        return LoggedTime{std::move(category_names_), now_};
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
        const auto [at, is_new] = here_.try_emplace(std::string(address), workers_);
        if (is_new) {
            workers_ += 1;
            sink_.worker(address, now);
        }
        return at->second;
    }

    void leave(std::string_view address, WallMicros now, std::string_view why) {
        const auto at = here_.find(std::string(address));
        if (at == here_.end()) return;  // a status client
        sink_.worker_left(at->second, now, why);
        here_.erase(at);
    }

    Status take_worker(std::string_view line, WallMicros now) {
        const std::string_view id = take_word(line);
        const std::string_view address = take_word(line);
        if (address.empty()) return refused("a WORKER record without an address");
        if (address == "RESOURCES") {
            const auto worker = by_id_.find(std::string(id));
            if (worker != by_id_.end()) sink_.worker_has(worker->second, line);
            return recorded();
        }
        const std::string_view what = take_word(line);
        if (what == "CONNECTION") {
            leave(address, now, {});  // the end of the connection before was not recorded
            by_id_[std::string(id)] = worker_at(address, now);
        } else if (what == "DISCONNECTION") {
            leave(address, now, take_word(line));
        }
        return recorded();
    }

    Status take_transfer(std::string_view line, WallMicros now) {
        const bool is_input = take_word(line) == "INPUT";
        std::uint64_t number = 0;
        if (!read_whole(take_word(line), number)) return refused("a TRANSFER record without a task");
        take_word(line);  // whether it is cached
        const std::int64_t bytes = bytes_of(take_word(line));
        const std::int64_t took = logged_micros(take_word(line));
        sink_.transfer(number, is_input, now, bytes, took, take_word(line));
        const auto task = tasks_.find(number);
        if (task != tasks_.end()) (is_input ? task->second.input : task->second.output).add(now, took, bytes);
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
            ranges_.add(first, last, categories_.place_of(word));
        } else if (state == "WAITING") {
            begin_waiting(first, word, line, now);
        } else if (state == "RUNNING") {
            Task& task = task_at(first, now);
            task.running.push_back({worker_at(word, now), ++task.attempts, now, 0, line});
        } else if (state == "WAITING_RETRIEVAL") {
            mark_returned(first, word, now);
        } else if (state == "RETRIEVED" || state == "DONE") {
            const std::string_view code = take_word(line);
            if (!logged_amount(line, "tasks").empty())
                take_calls(first, word, code, line, now);
            else
                take_end(first, {word, code, line}, now, state == "DONE" ? Ends::task : Ends::attempt);
        } else if (state == "CANCELED" || state == "CANCELLED") {
            take_end(first, {"cancelled", {}, {}}, now, Ends::task);
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
        const auto category = ranges_.category_of(number);
        return category ? *category : categories_.place_of("unknown");
    }

    Task& task_at(std::uint64_t number, WallMicros now) {
        const auto [at, is_new] = tasks_.try_emplace(number);
        if (is_new) {
            at->second.waiting = now;
            at->second.category = category_of(number);
        }
        return at->second;
    }

    struct End {
        std::string_view result;
        std::string_view code{};
        std::string_view measured{};
    };

    // While it runs: it is lost with its worker, or was not started there.
    void begin_waiting(std::uint64_t number, std::string_view category, std::string_view line,
                       WallMicros now) {
        Task& task = tasks_[number];
        for (const Running& running : task.running) close(number, task, running, {"lost"}, now);
        const std::uint32_t attempts = task.attempts;
        if (attempts > 0) sink_.again(number);
        task = Task{};
        task.category = categories_.place_of(category);
        task.waiting = now;
        task.asked = line;
        task.attempts = attempts;
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
    void take_end(std::uint64_t number, const End& end, WallMicros now, Ends what) {
        const auto found = tasks_.find(number);
        if (found == tasks_.end()) return;
        Task& task = found->second;
        auto ended = std::find_if(task.running.begin(), task.running.end(),
                                  [](const Running& running) { return running.returned != 0; });
        if (ended == task.running.end() && !task.running.empty()) ended = task.running.begin();
        if (ended != task.running.end() && !task.retrieved) {
            close(number, task, *ended, end, now);
            task.running.erase(ended);
        }
        task.retrieved = true;
        if (what == Ends::attempt) return;
        for (const Running& copy : task.running) close(number, task, copy, {"not needed"}, now);
        if (task.attempts == 0) sink_.never_ran();
        tasks_.erase(found);
    }

    // Calls of a range: the log has the sum of their times, and a line about once a second.
    void take_calls(std::uint64_t first, std::string_view result, std::string_view code,
                    std::string_view line, WallMicros now) {
        LoggedAttempt attempt;
        attempt.task = first;
        read_whole(logged_amount(line, "tasks"), attempt.calls);
        attempt.category = category_of(first);
        attempt.worker = worker_at(line.substr(line.find_last_of(' ') + 1), now);
        attempt.over = now;
        attempt.result = result, attempt.code = code, attempt.measured = attempt.allocated = line;
        sink_.attempt(attempt);
    }

    void close(std::uint64_t number, const Task& task, const Running& running, const End& end,
               WallMicros now) {
        LoggedAttempt attempt;
        attempt.task = number;
        attempt.attempt = running.attempt;
        attempt.category = task.category, attempt.worker = running.worker;
        attempt.waiting = task.waiting, attempt.running = running.since;
        attempt.returned = running.returned, attempt.over = now;
        attempt.input = task.input, attempt.output = task.output;
        attempt.result = end.result, attempt.code = end.code, attempt.measured = end.measured;
        attempt.allocated = running.allocated, attempt.asked = task.asked;
        sink_.attempt(attempt);
    }

    // A manager that was killed wrote no ends.
    void end_session(WallMicros when, std::string_view result) {
        for (auto& [number, task] : tasks_) {
            for (const Running& running : task.running) close(number, task, running, {result}, when);
            if (task.attempts == 0 && result == "running") sink_.never_ran();
        }
        tasks_.clear();
        for (const auto& [address, worker] : here_)
            sink_.worker_left(worker, when, result == "lost" ? result : std::string_view());
        here_.clear();
        by_id_.clear();
    }

    const std::string& name_;
    TransactionSink& sink_;
    std::vector<std::string> category_names_;
    Names categories_{category_names_};
    std::uint32_t workers_ = 0;
    std::unordered_map<std::uint64_t, Task> tasks_;         // not ended yet
    std::unordered_map<std::string, std::uint32_t> here_;   // connected workers, by address
    std::unordered_map<std::string, std::uint32_t> by_id_;  // the same
    Ranges ranges_;
    std::size_t line_ = 0;
    std::size_t records_ = 0;
    WallMicros now_ = 0;   // the latest time so far
    WallMicros last_ = 0;  // the same before this line
};

}  // namespace

Result<LoggedTime> parse_transactions(std::string_view text, const std::string& name, TransactionSink& sink) {
    Parser parser(name, sink);
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos) break;  // torn
        if (auto taken = parser.take(text.substr(0, end)); !taken) return taken.error();
        text.remove_prefix(end + 1);
    }
    return parser.result();
}

}  // namespace wq::views::model
