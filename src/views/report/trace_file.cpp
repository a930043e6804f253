#include "views/report/trace_file.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "records/journal/append_file.h"
#include "views/report/figures.h"
#include "views/report/pieces_file.h"

namespace wq::views::report {

namespace {

using model::RunAttempt;
using model::RunView;
using records::journal::put_number;

std::size_t worker_of(const RunView& run, const LaneEntry& entry) {
    return std::min<std::size_t>(run.attempts[entry.attempt].worker, run.workers.size());
}

// Lanes of one worker, for attempts by their begin: the lowest free one.
class Lanes {
  public:
    explicit Lanes(WallMicros overlap) : overlap_(overlap) {}

    std::uint32_t take(const TimeSpan& interval) {
        while (!busy_.empty() && busy_.top().first <= interval.begin) {
            free_.push(busy_.top().second);
            busy_.pop();
        }
        std::uint32_t lane = count_;
        if (free_.empty()) {
            ++count_;
        } else {
            lane = free_.top();
            free_.pop();
        }
        busy_.emplace(interval.end - std::min(overlap_, (interval.end - interval.begin) / 4), lane);
        return lane;
    }

  private:
    template <class T>
    using LowestFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;
    LowestFirst<std::pair<WallMicros, std::uint32_t>> busy_;  // until when
    LowestFirst<std::uint32_t> free_;
    std::uint32_t count_ = 0;
    WallMicros overlap_;
};

// Texts of names for JSON, made once for each place of a table.
class Quoted {
  public:
    explicit Quoted(std::size_t size) : texts_(size) {}
    const std::string& of(std::size_t place, const std::string& name) {
        std::string& text = texts_[place];
        if (text.empty()) text = quoted(name);
        return text;
    }
    static std::string quoted(const std::string& name) { return Json(name).dump(-1, true); }

  private:
    std::vector<std::string> texts_;
};

class TraceWriter {
  public:
    explicit TraceWriter(const RunView& run)
        : run_(run), entries_(lanes_of(run)), categories_(run.categories.size() + 1) {}

    bool next(std::string& text) {
        if (at_ == 0) text += "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
        if (at_ < entries_.size()) {
            const LaneEntry& entry = entries_[at_];
            if (at_ == 0 || worker_of(run_, entries_[at_ - 1]) != worker_of(run_, entry))
                put_process(text, entry);
            put_event(text, entry);
            ++at_;
        }
        if (at_ < entries_.size()) return true;
        text += "\n]}\n";
        return false;
    }

  private:
    void begin_event(std::string& text) {
        if (std::exchange(has_events_, true)) text += ",\n";
    }

    // Process ids begin at 1: 0 is the idle task in some viewers.
    void put_process(std::string& text, const LaneEntry& entry) {
        const std::size_t place = worker_of(run_, entry);
        std::string name = "unknown worker";
        if (place < run_.workers.size()) {
            const model::RunWorker& worker = run_.workers[place];
            name = worker.host + (worker.address.empty() ? "" : " " + worker.address);
        }
        begin_event(text);
        text += R"({"ph":"M","name":"process_name","pid":)";
        put_number(text, static_cast<std::uint64_t>(place + 1));
        text += R"(,"args":{"name":)" + Quoted::quoted(name) + "}}";
    }

    void put_event(std::string& text, const LaneEntry& entry) {
        const RunAttempt& attempt = run_.attempts[entry.attempt];
        const TimeSpan interval = time_span_of(run_, attempt);
        const std::size_t category = std::min<std::size_t>(attempt.category, run_.categories.size());
        begin_event(text);
        text += R"({"ph":"X","name":"task )";
        put_number(text, attempt.task);
        text += R"(","cat":)";
        text += categories_.of(category, category_of(run_, attempt));
        const auto put = [&](const char* key, auto value) {
            text += key;
            put_number(text, value);
        };
        put(R"(,"pid":)", static_cast<std::uint64_t>(worker_of(run_, entry) + 1));
        put(R"(,"tid":)", std::uint64_t{entry.lane} + 1);
        put(R"(,"ts":)", interval.begin - run_.begin);
        put(R"(,"dur":)", interval.end - interval.begin);
        put(R"(,"args":{"task":)", attempt.task);
        put(R"(,"attempt":)", std::uint64_t{attempt.attempt});
        if (attempt.line > 0) put(R"(,"line":)", attempt.line);
        if (attempt.calls > 1) put(R"(,"calls":)", std::uint64_t{attempt.calls});
        text += R"(,"cores":)";
        text += format_count_with_fraction(Count::of_thousandths(attempt.cores));
        text += R"(,"ending":")";
        text += attempt.received == 0 ? "running" : describe(kind_of(attempt));
        text += "\"}}";
    }

    const RunView& run_;
    const std::vector<LaneEntry> entries_;
    Quoted categories_;
    std::size_t at_ = 0;
    bool has_events_ = false;
};

}  // namespace

std::vector<LaneEntry> lanes_of(const RunView& run, WallMicros overlap) {
    std::vector<LaneEntry> entries;
    for (std::size_t n = 0; n < run.attempts.size(); ++n) {
        const RunAttempt& attempt = run.attempts[n];
        if (attempt.started != 0 || (attempt.dispatched != 0 && attempt.worker < run.workers.size()))
            entries.push_back({static_cast<std::uint32_t>(n), 0});
    }
    std::sort(entries.begin(), entries.end(), [&](const LaneEntry& a, const LaneEntry& b) {
        const std::size_t first = worker_of(run, a);
        const std::size_t second = worker_of(run, b);
        if (first != second) return first < second;
        const WallMicros begin = time_span_of(run, run.attempts[a.attempt]).begin;
        const WallMicros other = time_span_of(run, run.attempts[b.attempt]).begin;
        return begin != other ? begin < other : a.attempt < b.attempt;
    });
    Lanes lanes(overlap);
    for (std::size_t n = 0; n < entries.size(); ++n) {
        if (n > 0 && worker_of(run, entries[n]) != worker_of(run, entries[n - 1])) lanes = Lanes(overlap);
        entries[n].lane = lanes.take(time_span_of(run, run.attempts[entries[n].attempt]));
    }
    return entries;
}

Status write_trace(const std::string& path, const RunView& run) {
    TraceWriter writer(run);
    return write_in_pieces(path, [&](std::string& text) { return writer.next(text); });
}

}  // namespace wq::views::report
