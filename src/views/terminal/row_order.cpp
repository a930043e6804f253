#include "views/terminal/row_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/model/resources.h"

namespace wq::views::terminal {

namespace {

using model::RunAttempt;
using model::RunView;

// ---- words ----

char lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

struct Word {
    std::string where;  // "category", "host", "state"; empty: anywhere
    std::string text;   // in lower case
};

// Hosts are chosen by whole names: else node1 would choose node10, too.
bool is_host(const std::string& name, const Word& word) {
    return std::equal(name.begin(), name.end(), word.text.begin(), word.text.end(),
                      [](char a, char b) { return lower(a) == b; });
}

bool contains(std::string_view text, const Word& word) {
    return std::search(text.begin(), text.end(), word.text.begin(), word.text.end(),
                       [](char a, char b) { return lower(a) == b; }) != text.end();
}

std::vector<Word> words_of(const std::string& line) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        std::string text = line.substr(at, end - at);
        at = end + 1;
        std::transform(text.begin(), text.end(), text.begin(), lower);
        Word word{"", text};
        for (const char* const where : {"category", "host", "state"})
            if (text.starts_with(where + std::string("="))) {
                const std::size_t behind = std::string_view(where).size() + 1;
                word = {where, text.substr(behind)};
            }
        if (!word.text.empty()) words.push_back(std::move(word));
    }
    return words;
}

struct Field {
    std::string_view where;
    std::string text;
};

bool matches(const std::vector<Field>& fields, const std::vector<Word>& words) {
    return std::all_of(words.begin(), words.end(), [&](const Word& word) {
        return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
            if (word.where == "host") return field.where == "host" && is_host(field.text, word);
            return (word.where.empty() || word.where == field.where) && contains(field.text, word);
        });
    });
}

// Whether a word is in one of the names of a run that many tasks share.
struct WordInNames {
    std::vector<bool> categories, workers;
    std::unordered_map<std::uint64_t, bool> endings{};
};

// Each name is compared once, not once for each task.
class TaskWords {
  public:
    TaskWords(const RunView& run, const std::string& line) : run_(run), words_(words_of(line)) {
        for (const Word& word : words_) {
            WordInNames names;
            const bool any = word.where.empty();
            for (std::uint32_t n = 0; n <= run.categories.size(); ++n)
                names.categories.push_back((any || word.where == "category") &&
                                           contains(category_text(run, n), word));
            for (std::uint32_t n = 0; n <= run.workers.size(); ++n) {
                const std::string host = host_text(run, n);
                names.workers.push_back(word.where == "host" ? is_host(host, word)
                                                             : any && contains(host, word));
            }
            names_.push_back(std::move(names));
        }
    }

    bool match(const TaskRow& row) {
        for (std::size_t n = 0; n < words_.size(); ++n)
            if (!matches_word(row, n)) return false;
        return true;
    }

  private:
    bool matches_word(const TaskRow& row, std::size_t n) {
        const Word& word = words_[n];
        WordInNames& names = names_[n];
        const RunAttempt& attempt = run_.attempts[row.shown];
        const auto place = [](std::uint32_t number, const std::vector<bool>& known) {
            return std::min<std::size_t>(number, known.size() - 1);
        };
        if (names.categories[place(attempt.category, names.categories)]) return true;
        if (names.workers[place(attempt.worker, names.workers)]) return true;
        if ((word.where.empty() || word.where == "state") && contains(name_of(row.state), word)) return true;
        if (!word.where.empty()) return false;
        if (word.text == std::to_string(row.task)) return true;
        if (row.state == TaskState::running) return false;
        const std::uint64_t kind = static_cast<std::uint64_t>(attempt.ending) << 48 |
                                   std::uint64_t{attempt.signal} << 32 |
                                   static_cast<std::uint32_t>(attempt.exit_code);
        const auto [known, is_new] = names.endings.try_emplace(kind);
        if (is_new) known->second = contains(ending_text(attempt), word);
        return known->second;
    }

    const RunView& run_;
    std::vector<Word> words_;
    std::vector<WordInNames> names_;
};

// ---- order ----

// Places of names in the order of the alphabet.
std::vector<double> ranks_of(const std::vector<std::string>& names) {
    std::map<std::string_view, double> places;
    for (const std::string& name : names) places[name];
    double next = 0;
    for (auto& [name, place] : places) place = next++;
    std::vector<double> ranks;
    for (const std::string& name : names) ranks.push_back(places[name]);
    return ranks;
}

template <class NameOf>
std::vector<double> ranks_of(std::size_t count, const NameOf& name_of_place) {
    std::vector<std::string> names;
    for (std::uint32_t n = 0; n < count; ++n) names.push_back(name_of_place(n));
    return ranks_of(names);
}

double rank_in(const std::vector<double>& ranks, std::uint32_t place) {
    return place < ranks.size() ? ranks[place] : -1;
}

// Equal keys keep the order of the rows. What is not recorded (below 0) is neither the most nor the least: it
// comes last.
template <class KeyOf>
void sort_by(std::vector<std::uint32_t>& rows, bool descending, const KeyOf& key_of) {
    std::vector<std::pair<double, std::uint32_t>> keys;
    keys.reserve(rows.size());
    for (const std::uint32_t row : rows) {
        const double key = key_of(row);
        keys.emplace_back(key < 0 ? HUGE_VAL : descending ? -key : key, row);
    }
    std::sort(keys.begin(), keys.end());
    for (std::size_t n = 0; n < rows.size(); ++n) rows[n] = keys[n].second;
}

double task_key(const TaskRow& row, const RunAttempt& attempt, TaskColumn column, WallMicros at) {
    switch (column) {
        case TaskColumn::state:
            return static_cast<double>(row.state);
        case TaskColumn::attempts:
            return row.attempts;
        case TaskColumn::begin:
            return static_cast<double>(attempt.started != 0 ? attempt.started : attempt.dispatched);
        case TaskColumn::time:
            return static_cast<double>(run_time_us(attempt, at));
        case TaskColumn::ending:
            return static_cast<double>(attempt.ending) * 1e6 + attempt.exit_code + attempt.signal;
        case TaskColumn::cores:
            return attempt.wall_us > 0 && attempt.cpu_us >= 0
                       ? static_cast<double>(attempt.cpu_us) / static_cast<double>(attempt.wall_us)
                       : -1;
        case TaskColumn::memory:
            return static_cast<double>(attempt.memory_peak_mb);
        default:
            return static_cast<double>(row.task);
    }
}

std::vector<std::uint32_t> task_rows(const RunView& run, const RunMoment& moment, const WatchState& state) {
    std::vector<std::uint32_t> rows;
    TaskWords words(run, state.words());
    for (std::uint32_t n = 0; n < moment.tasks.size(); ++n) {
        const TaskRow& row = moment.tasks[n];
        if (state.task_state && row.state != *state.task_state) continue;
        if (words.match(row)) rows.push_back(n);
    }
    const auto column = static_cast<TaskColumn>(state.table().sort_column);
    std::vector<double> ranks;
    if (column == TaskColumn::category)
        ranks = ranks_of(run.categories.size(), [&](std::uint32_t n) { return category_text(run, n); });
    if (column == TaskColumn::host)
        ranks = ranks_of(run.workers.size(), [&](std::uint32_t n) { return host_text(run, n); });
    sort_by(rows, state.table().descending, [&](std::uint32_t n) {
        const TaskRow& row = moment.tasks[n];
        const RunAttempt& attempt = run.attempts[row.shown];
        if (column == TaskColumn::category) return rank_in(ranks, attempt.category);
        if (column == TaskColumn::host) return rank_in(ranks, attempt.worker);
        return task_key(row, attempt, column, moment.at);
    });
    return rows;
}

double worker_key(const WorkerRow& row, const model::RunWorker& worker, WorkerColumn column) {
    switch (column) {
        case WorkerColumn::state:
            return static_cast<double>(row.state);
        case WorkerColumn::cores:
            return static_cast<double>(row.cores_busy);
        case WorkerColumn::running:
            return row.running;
        case WorkerColumn::done:
            return static_cast<double>(row.succeeded);
        case WorkerColumn::failed:
            return static_cast<double>(row.failed);
        case WorkerColumn::joined:
            return static_cast<double>(worker.joined);
        default:
            return static_cast<double>(worker.left);
    }
}

std::vector<std::uint32_t> worker_rows(const RunView& run, const RunMoment& moment, const WatchState& state) {
    std::vector<std::uint32_t> rows;
    const std::vector<Word> words = words_of(state.words());
    for (std::uint32_t n = 0; n < moment.workers.size(); ++n) {
        const WorkerRow& row = moment.workers[n];
        const model::RunWorker& worker = run.workers[row.worker];
        const std::vector<Field> fields{
            {"host", worker.host}, {"address", worker.address}, {"state", name_of(row.state)}};
        if (words.empty() || matches(fields, words)) rows.push_back(n);
    }
    const auto column = static_cast<WorkerColumn>(state.table().sort_column);
    std::vector<double> ranks;
    if (column == WorkerColumn::host || column == WorkerColumn::address)
        ranks = ranks_of(run.workers.size(), [&](std::uint32_t n) {
            return column == WorkerColumn::host ? run.workers[n].host : run.workers[n].address;
        });
    sort_by(rows, state.table().descending, [&](std::uint32_t n) {
        const WorkerRow& row = moment.workers[n];
        return ranks.empty() ? worker_key(row, run.workers[row.worker], column) : ranks[row.worker];
    });
    return rows;
}

std::vector<std::uint32_t> failure_rows(const RunView& run, const RunMoment& moment,
                                        const std::vector<Word>& words) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t n = 0; n < moment.failures.size(); ++n) {
        const FailureRow& row = moment.failures[n];
        std::vector<Field> fields{{"ending", row.what}, {"category", category_text(run, row.category)}};
        for (const std::string& host : row.hosts) fields.push_back({"host", host});
        if (matches(fields, words)) rows.push_back(n);
    }
    return rows;
}

std::vector<std::uint32_t> waiting_rows(const RunView& run, const RunMoment& moment,
                                        const std::vector<Word>& words) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t n = 0; n < moment.waiting.size(); ++n) {
        const WaitingRow& row = moment.waiting[n];
        std::vector<Field> fields{{"reason", engine::model::name_of(row.reason)},
                                  {"reason", engine::model::meaning_of(row.reason)}};
        if (row.ask < run.asks.size())
            fields.push_back({"ask", engine::model::describe(run.asks[row.ask].needs)});
        if (matches(fields, words)) rows.push_back(n);
    }
    return rows;
}

}  // namespace

std::size_t sort_columns_of(Page page) {
    if (page == Page::tasks) return static_cast<std::size_t>(TaskColumn::last) + 1;
    if (page == Page::workers) return static_cast<std::size_t>(WorkerColumn::last) + 1;
    return 0;
}

std::vector<std::uint32_t> ordered_rows(const RunView& run, const model::Account& account,
                                        const RunMoment& moment, const WatchState& state) {
    switch (state.page) {
        case Page::workers:
            return worker_rows(run, moment, state);
        case Page::tasks:
            return task_rows(run, moment, state);
        case Page::failures:
            return failure_rows(run, moment, words_of(state.words()));
        case Page::waiting:
            return waiting_rows(run, moment, words_of(state.words()));
        case Page::account: {
            std::vector<std::uint32_t> lines;
            for (std::uint32_t n = 0; n < account.lines.size(); ++n)
                if (account.lines[n] != 0) lines.push_back(n);
            return lines;
        }
        case Page::overview:
            break;
    }
    return {};
}

std::int64_t run_time_us(const RunAttempt& attempt, WallMicros at) {
    if (attempt.received != 0 && attempt.received <= at) return attempt.wall_us;
    const WallMicros begin = attempt.started != 0 ? attempt.started : attempt.dispatched;
    return begin == 0 ? model::not_recorded : std::max<WallMicros>(at - begin, 0);
}

}  // namespace wq::views::terminal
