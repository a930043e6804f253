#include "views/model/account.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "engine/model/resources.h"
#include "views/model/ask_fits.h"
#include "views/model/attempt_times.h"
#include "views/model/free_cores.h"
#include "views/model/holders.h"
#include "views/model/waiting_asks.h"

namespace wq::views::model {

namespace {

struct LineText {
    const char* name;
    const char* title;
    const char* meaning;
};
constexpr std::array<LineText, account_line_count> line_texts{{
#define WQ_LINE(name, title, meaning) {#name, title, meaning},
    WQ_ACCOUNT_LINES(WQ_LINE)
#undef WQ_LINE
}};

enum class What : std::uint8_t {
    // Of an attempt.
    blocked,
    unblocked,
    ready,
    taken,  // dispatched; or it ended without that
    // Of a worker.
    begin,
    join,
    change_joined,  // WorkerChange, in its order
    change_draining,
    change_stays,
    change_excluded,
    change_admitted,
    change_disconnected,
    change_back,
    change_left,
    end,
    // Of the run.
    session,
    row,
    sample,
    look,  // nothing: what follows from the time may be another
};

struct Event {
    WallMicros time = 0;
    std::uint32_t place = 0;
    What what = What::look;
};

bool is_earlier(const Event& a, const Event& b) {
    return a.time < b.time;
}

What what_of(records::journal::WorkerChange change) {
    return static_cast<What>(static_cast<int>(What::change_joined) + static_cast<int>(change));
}

// When it stopped to wait.
WallMicros taken_at(const RunAttempt& attempt, WallMicros end) {
    if (attempt.calls > 1 && attempt.started != 0) return attempt.started;
    if (attempt.dispatched != 0) return attempt.dispatched;
    if (attempt.started != 0) return attempt.started;
    return attempt.received != 0 ? attempt.received : std::max(end, attempt.ready);
}

bool waits(const RunAttempt& ordered, WallMicros end) {
    return ordered.ready != 0 && ordered.ready < taken_at(ordered, end);
}

RunAttempt in_order(const RunAttempt& attempt) {
    RunAttempt ordered = attempt;
    bring_into_order(ordered);
    return ordered;
}

// When attempts ended that others followed.
class EarlierEnds {
  public:
    explicit EarlierEnds(const std::vector<RunAttempt>& attempts) {
        for (const RunAttempt& attempt : attempts)
            if (!attempt.is_final) ends_.emplace_back(attempt.task, attempt.attempt, attempt.received);
        std::sort(ends_.begin(), ends_.end());
    }
    WallMicros before(const RunAttempt& attempt) const {
        const auto next = std::lower_bound(ends_.begin(), ends_.end(),
                                           std::tuple(attempt.task, attempt.attempt, WallMicros{0}));
        if (next == ends_.begin() || std::get<0>(*std::prev(next)) != attempt.task) return 0;
        return std::get<2>(*std::prev(next));
    }

  private:
    std::vector<std::tuple<std::uint64_t, std::uint32_t, WallMicros>> ends_;
};

// Sorted by time.
std::vector<Event> attempt_events(const RunView& run) {
    const EarlierEnds ends(run.attempts);
    std::vector<Event> events;
    events.reserve(run.attempts.size() * 2);
    for (std::uint32_t place = 0; place < run.attempts.size(); ++place) {
        const RunAttempt attempt = in_order(run.attempts[place]);
        const WallMicros taken = taken_at(attempt, run.end);
        if (waits(attempt, run.end)) events.push_back({attempt.ready, place, What::ready});
        events.push_back({taken, place, What::taken});
        if (attempt.ready == 0) continue;
        const WallMicros since = std::max(attempt.submitted != 0 ? attempt.submitted : attempt.ready,
                                          attempt.attempt > 1 ? ends.before(attempt) : 0);
        if (since >= attempt.ready) continue;
        events.push_back({since, place, What::blocked});
        events.push_back({attempt.ready, place, What::unblocked});
    }
    std::sort(events.begin(), events.end(), is_earlier);
    return events;
}

// Of workers and of the run, sorted by time; at one time in the order in which they are added here.
std::vector<Event> other_events(const RunView& run, const std::vector<Stay>& stays) {
    std::vector<Event> events;
    const auto add = [&](WallMicros time, std::size_t place, What what) {
        bound_time(time);
        events.push_back({time, static_cast<std::uint32_t>(place), what});
    };
    for (std::size_t place = 0; place < run.workers.size(); ++place) {
        const Stay& stay = stays[place];
        if (stay.begin == stay.end) continue;
        add(stay.begin, place, What::begin);
        add(std::max(run.workers[place].joined, stay.begin), place, What::join);
        for (const RunWorkerChange& change : run.workers[place].changes)
            add(change.time, place, what_of(change.change));
        add(stay.end, place, What::end);
    }
    for (std::size_t place = 0; place < run.sessions.size(); ++place)
        add(run.sessions[place].begin, place, What::session);
    for (std::size_t place = 0; place < run.waiting.size(); ++place)
        add(run.waiting[place].time, place, What::row);
    for (std::size_t place = 0; place < run.samples.size(); ++place)
        add(run.samples[place].time, place, What::sample);
    // From which times on no more tasks come, and none is left.
    WallMicros last_submitted = 0;
    WallMicros last_received = 0;
    for (const RunAttempt& attempt : run.attempts) {
        last_submitted = std::max(last_submitted, attempt.submitted);
        last_received = std::max(last_received, attempt.received);
    }
    add(last_submitted, 0, What::look);
    add(last_received, 0, What::look);
    std::stable_sort(events.begin(), events.end(), is_earlier);
    return events;
}

Amounts amounts_of(const RunAttempt& attempt, std::int64_t coprocesses) {
    const auto amount = [](std::int64_t value) {
        return std::clamp<std::int64_t>(value, 0, engine::model::most_size);
    };
    Amounts amounts;
    amounts.memory_mb = amount(attempt.memory_mb);
    amounts.memory_peak_mb = attempt.memory_peak_mb < 0 ? amounts.memory_mb : amount(attempt.memory_peak_mb);
    amounts.disk_mb = amount(attempt.disk_mb);
    amounts.gpus = amount(attempt.gpus);
    amounts.coprocesses = coprocesses;
    return amounts;
}

std::int64_t cores_held_by(const RunAttempt& attempt, const PhaseTimes& times, std::int64_t of_worker) {
    const std::int64_t cores = std::max<std::int64_t>(attempt.cores, 0);
    if (attempt.calls <= 1) return cores;
    const CoreTime wall = std::clamp<std::int64_t>(attempt.wall_us, 0, latest_time);
    const CoreTime held = wall * cores / (times.begin.back() - times.begin.front());
    return static_cast<std::int64_t>(std::min<CoreTime>(held, of_worker));
}

// How each session ended that the samples know: with tasks on workers, or without.
std::vector<bool> unfinished_sessions(const RunView& run) {
    std::vector<bool> unfinished(run.sessions.size());
    auto sample = run.samples.begin();
    for (std::size_t place = 0; place < run.sessions.size(); ++place) {
        const bool is_last = place + 1 == run.sessions.size();
        for (; sample != run.samples.end() && (is_last || sample->time < run.sessions[place + 1].begin);
             ++sample)
            unfinished[place] = sample->stats.tasks_running > 0;
    }
    return unfinished;
}

// Goes through the run's events in the order of time.
class Sweep : private HeldSink {
  public:
    explicit Sweep(const RunView& run)
        : run_(run),
          stays_(stays_of(run.workers, run)),
          fits_(run.asks),
          waiting_(run),
          free_(fits_, waiting_, run.workers.size()),
          workers_(run.workers.size()),
          unfinished_(unfinished_sessions(run)) {
        const std::vector<Offer> offers = offers_of(run);
        for (std::size_t place = 0; place < workers_.size(); ++place)
            workers_[place].offer = fits_.place_of(offers[place]);
    }

    Account result() {
        const std::vector<Event> attempts = attempt_events(run_);
        const std::vector<Event> others = other_events(run_, stays_);
        auto attempt = attempts.begin();
        auto other = others.begin();
        while (attempt != attempts.end() || other != others.end() || !changes_.empty()) {
            WallMicros next = latest_time;
            if (attempt != attempts.end()) next = std::min(next, attempt->time);
            if (other != others.end()) next = std::min(next, other->time);
            if (!changes_.empty()) next = std::min(next, changes_.top().first);
            advance(next);
            for (; !changes_.empty() && changes_.top().first == now_; changes_.pop())
                change_phase(changes_.top().second);
            for (; other != others.end() && other->time == now_; ++other) take(*other);
            for (; attempt != attempts.end() && attempt->time == now_; ++attempt) take_attempt(*attempt);
            settle();
            look_for_unrecorded();
        }
        account_.not_offered = not_offered_by(run_.workers, stays_);
        return account_;
    }

  private:
    struct WorkerState {
        WorkerHolders holders;
        std::uint32_t offer = 0;
        bool is_present = false;
        bool has_joined = false;
        bool is_disconnected = false;
        bool is_excluded = false;
        bool is_draining = false;
        bool is_changed = false;

        bool is_connected() const { return is_present && has_joined && !is_disconnected; }
    };
    using Change = std::pair<WallMicros, std::size_t>;  // of a holder

    void advance(WallMicros to);
    void look_for_unrecorded();
    void take(const Event& event);
    void take_worker(const Event& event);
    void take_attempt(const Event& event);
    void hold(std::uint32_t place);
    void change_phase(std::size_t holder);
    void mark(std::size_t worker);
    void settle();
    void settle(std::size_t worker);
    void divide(const Holder& holder);
    void add_held(Holder& holder, CoreTime held) override;
    bool has_worker(const RunAttempt& attempt) const { return attempt.worker < workers_.size(); }

    const RunView& run_;
    const std::vector<Stay> stays_;
    AskFits fits_;
    WaitingAsks waiting_;
    FreeCores free_;
    std::vector<WorkerState> workers_;
    std::vector<std::size_t> changed_;  // workers
    std::int64_t connected_ = 0;        // workers
    std::int64_t offered_ = 0;          // cores, now
    const std::vector<bool> unfinished_;
    std::size_t session_ = 0;
    const RunSample* sample_ = nullptr;  // of now
    std::int64_t unrecorded_ = 0;        // cores that attempts without a record hold
    std::deque<Holder> holders_;
    std::vector<std::size_t> unused_;  // of holders_
    std::priority_queue<Change, std::vector<Change>, std::greater<>> changes_;
    WallMicros now_ = 0;
    Account account_;
};

void Sweep::advance(WallMicros to) {
    const WallMicros took = to - now_;
    now_ = to;
    if (offered_ == 0) return;
    account_.offered += CoreTime{offered_} * took;
    std::int64_t unrecorded = unrecorded_;
    for (std::size_t line = account_line_count; line-- > 0;) {
        const std::int64_t held = std::min(unrecorded, free_.cores()[line]);
        unrecorded -= held;
        account_.lines[line] += CoreTime{free_.cores()[line] - held} * took;
    }
    const CoreTime held = CoreTime{unrecorded_ - unrecorded} * took;
    const bool is_live = run_.is_live && session_ + 1 == run_.sessions.size();
    account_.at(is_live ? AccountLine::running : AccountLine::lost) += held;
    if (!is_live) account_.lost_by_ending[static_cast<std::size_t>(engine::model::Ending::killed)] += held;
}

// At a sample: cores that are allocated, and that no attempt holds.
void Sweep::look_for_unrecorded() {
    if (sample_ == nullptr) return;
    const bool is_unfinished = session_ < unfinished_.size() && unfinished_[session_];
    std::int64_t held = offered_;
    for (const std::int64_t free : free_.cores()) held -= free;
    const std::int64_t committed =
        std::clamp<std::int64_t>(std::exchange(sample_, nullptr)->stats.committed_cores, 0,
                                 engine::model::most_size / 1000) *
        1000;
    unrecorded_ = is_unfinished ? std::max<std::int64_t>(committed - held, 0) : 0;
}

void Sweep::take(const Event& event) {
    switch (event.what) {
        case What::session:
            waiting_.begin_session();
            session_ = event.place;
            unrecorded_ = 0;
            return;
        case What::row:
            waiting_.take(run_.waiting[event.place]);
            return;
        case What::sample:
            waiting_.sample(connected_ > 0);
            sample_ = &run_.samples[event.place];
            return;
        case What::look:
            return;
        default:
            take_worker(event);
    }
}

void Sweep::take_worker(const Event& event) {
    WorkerState& worker = workers_[event.place];
    const bool was_connected = worker.is_connected();
    if (event.what == What::begin || event.what == What::end) {
        worker.is_present = event.what == What::begin;
        const std::int64_t cores = cores_of(run_.workers[event.place]);
        offered_ += worker.is_present ? cores : -cores;
    }
    if (event.what == What::join) worker.has_joined = true;
    if (event.what == What::change_disconnected) worker.is_disconnected = true;
    if (event.what == What::change_back || event.what == What::change_joined) worker.is_disconnected = false;
    if (event.what == What::change_excluded) worker.is_excluded = true;
    if (event.what == What::change_admitted) worker.is_excluded = false;
    if (event.what == What::change_draining) worker.is_draining = true;
    if (event.what == What::change_stays) worker.is_draining = false;
    connected_ += (worker.is_connected() ? 1 : 0) - (was_connected ? 1 : 0);
    mark(event.place);
}

void Sweep::take_attempt(const Event& event) {
    const RunAttempt& attempt = run_.attempts[event.place];
    if (event.what == What::blocked || event.what == What::unblocked) {
        waiting_.block(attempt.attempt > 1, event.what == What::blocked ? 1 : -1);
    } else if (event.what == What::ready) {
        waiting_.be_ready(attempt.ask, 1);
    } else {
        if (waits(in_order(attempt), run_.end)) waiting_.be_ready(attempt.ask, -1);
        hold(event.place);
    }
}

void Sweep::hold(std::uint32_t place) {
    const RunAttempt& attempt = run_.attempts[place];
    const std::size_t index = unused_.empty() ? holders_.size() : unused_.back();
    if (unused_.empty())
        holders_.emplace_back();
    else
        unused_.pop_back();
    Holder& holder = holders_[index];
    holder = Holder{};
    holder.attempt = place;
    holder.times = phases_of(attempt, run_.end);
    if (holder.times.is_empty()) {
        divide(holder);
        unused_.push_back(index);
        return;
    }
    waiting_.be_dispatched(1);
    if (has_worker(attempt)) {
        holder.cores = cores_held_by(attempt, holder.times, cores_of(run_.workers[attempt.worker]));
        holder.amounts = amounts_of(attempt, fits_.coprocesses_of(attempt.ask));
        holder.phase = Phase::over;
        workers_[attempt.worker].holders.enter(holder, holder.times.at(now_), now_, *this);
        mark(attempt.worker);
    }
    changes_.emplace(holder.times.next_change(now_), index);
}

void Sweep::change_phase(std::size_t index) {
    Holder& holder = holders_[index];
    const RunAttempt& attempt = run_.attempts[holder.attempt];
    const Phase phase = holder.times.at(now_);
    if (has_worker(attempt)) {
        workers_[attempt.worker].holders.enter(holder, phase, now_, *this);
        mark(attempt.worker);
    }
    if (phase != Phase::over) {
        changes_.emplace(holder.times.next_change(now_), index);
        return;
    }
    waiting_.be_dispatched(-1);
    divide(holder);
    unused_.push_back(index);
}

void Sweep::mark(std::size_t worker) {
    if (workers_[worker].is_changed) return;
    workers_[worker].is_changed = true;
    changed_.push_back(worker);
}

void Sweep::settle() {
    if (waiting_.settle(now_)) free_.update();
    for (const std::size_t worker : changed_) settle(worker);
    changed_.clear();
}

void Sweep::settle(std::size_t place) {
    WorkerState& worker = workers_[place];
    worker.is_changed = false;
    const std::int64_t cores = worker.is_present ? cores_of(run_.workers[place]) : 0;
    worker.holders.share(cores, now_, *this);
    const std::int64_t left = cores - worker.holders.held();
    if (left == 0)
        free_.set_line(place, AccountLine::unknown, 0);
    else if (!worker.has_joined)
        free_.set_line(place, AccountLine::starting, left);
    else if (worker.is_disconnected)
        free_.set_line(place, AccountLine::disconnected, left);
    else if (worker.is_excluded)
        free_.set_line(place, AccountLine::excluded, left);
    else if (worker.is_draining)
        free_.set_line(place, AccountLine::draining, left);
    else
        free_.set_share(place, {worker.offer, left, worker.holders.amounts()});
}

void Sweep::add_held(Holder& holder, CoreTime held) {
    const RunAttempt& attempt = run_.attempts[holder.attempt];
    if (attempt.received != 0 && !attempt.is_accepted) {
        account_.at(AccountLine::lost) += held;
        account_.lost_by_ending[static_cast<std::size_t>(attempt.ending)] += held;
    } else if (holder.phase == Phase::files_in) {
        account_.at(AccountLine::files_in) += held;
    } else if (holder.phase == Phase::files_out) {
        account_.at(AccountLine::files_out) += held;
    } else if (holder.phase != Phase::runs) {
        account_.at(run_.has_file_times ? AccountLine::start_and_report : AccountLine::unknown) += held;
    } else if (attempt.received == 0) {
        account_.at(AccountLine::running) += held;
    } else {
        holder.ran += held;
    }
}

// What an accepted success has held while it ran.
void Sweep::divide(const Holder& holder) {
    const RunAttempt& attempt = run_.attempts[holder.attempt];
    if (attempt.received == 0 || !attempt.is_accepted || !has_worker(attempt)) return;
    if (attempt.cpu_us < 0) {
        account_.at(AccountLine::unknown) += holder.ran;
        return;
    }
    const CoreTime used = CoreTime{attempt.cpu_us} * 1000;
    const CoreTime useful = std::min(used, holder.ran);
    const CoreTime rest = holder.ran - useful;
    const CoreTime waited = attempt.disk_wait < 0 ? 0 : rest * std::min<int>(attempt.disk_wait, 1000) / 1000;
    account_.at(AccountLine::useful) += useful;
    account_.at(AccountLine::waited_for_files) += waited;
    account_.at(AccountLine::idle_in_tasks) += rest - waited;
    if (attempt.disk_wait < 0) account_.idle_not_sampled += rest;
    account_.above_allocation += used - useful;
}

}  // namespace

const char* name_of(AccountLine line) {
    return line_texts[static_cast<std::size_t>(line)].name;
}

const char* title_of(AccountLine line) {
    return line_texts[static_cast<std::size_t>(line)].title;
}

const char* meaning_of(AccountLine line) {
    return line_texts[static_cast<std::size_t>(line)].meaning;
}

Account account_of(const RunView& run) {
    return Sweep(run).result();
}

CoreTime offered_by(std::span<const RunWorker> workers, const RunView& run) {
    const std::vector<Stay> stays = stays_of(workers, run);
    CoreTime sum = 0;
    for (std::size_t place = 0; place < workers.size(); ++place)
        sum += CoreTime{cores_of(workers[place])} * (stays[place].end - stays[place].begin);
    return sum;
}

}  // namespace wq::views::model
