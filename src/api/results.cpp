#include "api/results.h"

#include <algorithm>
#include <iterator>

namespace wq::api {

namespace {

std::int64_t micros(Duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// Merges adjacent intervals.
void join(std::vector<std::pair<std::int64_t, std::int64_t>>& all,
          const std::vector<std::pair<std::int64_t, std::int64_t>>& more) {
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), more.begin(), more.end());
    std::inplace_merge(all.begin(), all.begin() + middle, all.end());
    std::size_t kept = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].first == all[kept].second)
            all[kept].second = all[i].second;
        else
            all[++kept] = all[i];
    }
    if (!all.empty()) all.resize(kept + 1);
}

// The summary may be written at any time; written() follows.
bool is_written(const TaskData& task) {
    if (!task.report || !task.report->summary.valid()) return true;
    return task.report->summary.wait_for(Duration{0}) == std::future_status::ready;
}

}  // namespace

// ---- the program's threads ----

void Results::expect(const TaskData& task) {
    const std::lock_guard lock(mutex_);
    ++tagged_[task.tag];
    if (!task.by_tag_only) ++to_come_;
}

void Results::forget(const std::string& tag, bool by_tag_only) {
    const std::lock_guard lock(mutex_);
    uncount(tag, by_tag_only);
    there_is_one_.notify_all();
}

void Results::uncount(const std::string& tag, bool by_tag_only) {
    if (!by_tag_only) --to_come_;
    const auto tagged = tagged_.find(tag);
    if (tagged != tagged_.end() && --tagged->second == 0) tagged_.erase(tagged);
}

Results::Position Results::find(const std::string* tag) {
    return tag == nullptr ? ready_.begin() : ready_.first_of(*tag);
}

bool Results::none_to_come(const std::string* tag) const {
    return ended_ || (tag == nullptr ? to_come_ == 0 : !tagged_.contains(*tag));
}

std::unique_ptr<TaskData> Results::pop(WaitingResults& from, Position place) {
    const bool last = place->last;
    std::unique_ptr<TaskData> task = from.take(place);
    if (last) uncount(task->tag, task->by_tag_only);
    return task;
}

std::unique_ptr<TaskData> Results::pop_returned(Position place) {
    std::unique_ptr<TaskData> task = pop(ready_, place);
    const bool failed = task->report && task->report->result != TaskResult::success;
    const auto count =
        task->kind == TaskKind::range ? static_cast<std::int64_t>(task->edit_report().progress.done_now) : 1;
    figures_.returned += count;
    if (failed) figures_.failed += count;
    return task;
}

std::unique_ptr<TaskData> Results::wait(std::optional<Instant> limit, const std::string* tag) {
    const Instant began = instant_now();
    std::unique_lock lock(mutex_);
    if (inside_++ == 0) figures_.outside_us += micros(began - outside_since_);
    std::unique_ptr<TaskData> task;
    for (;;) {
        if (ended_) make_all_ready();
        if (const auto found = find(tag); found != ready_.end()) {
            task = pop_returned(found);
            break;
        }
        if (none_to_come(tag)) break;
        ++waiters_;
        bool over = false;
        if (limit) {
            const auto left = std::max<Duration>(*limit - instant_now(), Duration{0});
            over = left == Duration{0} || there_is_one_.wait_for(lock, left) == std::cv_status::timeout;
        } else {
            there_is_one_.wait(lock);
        }
        --waiters_;
        if (!over) continue;
        if (const auto found = find(tag); found != ready_.end()) task = pop_returned(found);
        break;
    }
    if (--inside_ == 0) outside_since_ = instant_now();
    return task;
}

bool Results::gather(Instant limit) {
    const Instant began = instant_now();
    std::unique_lock lock(mutex_);
    if (inside_++ == 0) figures_.outside_us += micros(began - outside_since_);
    ++waiters_;
    const bool all = there_is_one_.wait_for(lock, std::max<Duration>(limit - instant_now(), Duration{0}),
                                            [&] { return ended_ || to_come_ <= ready_.untagged(); });
    --waiters_;
    if (--inside_ == 0) outside_since_ = instant_now();
    return all;
}

// Skips the report of a range that has not ended.
std::unique_ptr<TaskData> Results::pop_ended(WaitingResults& from, Position place) {
    return place == from.end() || !place->last ? nullptr : pop(from, place);
}

// Locks to look at ended tasks.
std::unique_lock<std::mutex> Results::lock_ended() {
    std::unique_lock lock(mutex_);
    if (ended_) make_all_ready();
    return lock;
}

std::unique_ptr<TaskData> Results::take(std::int64_t id) {
    const std::unique_lock lock = lock_ended();
    auto taken = pop_ended(ready_, ready_.of(id));
    return taken ? std::move(taken) : pop_ended(unwritten_, unwritten_.of(id));
}

std::unique_ptr<TaskData> Results::take_tagged(const std::string& tag) {
    const std::unique_lock lock = lock_ended();
    auto taken = pop_ended(ready_, ready_.first_of(tag));
    return taken ? std::move(taken) : pop_ended(unwritten_, unwritten_.first_of(tag));
}

std::vector<std::unique_ptr<TaskData>> Results::take_category(const std::string* category) {
    const std::unique_lock lock = lock_ended();
    std::vector<std::unique_ptr<TaskData>> taken;
    for (WaitingResults* from : {&ready_, &unwritten_})
        for (Position place = from->begin(); place != from->end();) {
            const Position next = std::next(place);
            if (place->last && (category == nullptr || place->task->category == *category))
                taken.push_back(pop(*from, place));
            place = next;
        }
    return taken;
}

bool Results::empty() const {
    const std::lock_guard lock(mutex_);
    return to_come_ == 0;
}

bool Results::holds(std::int64_t id) const {
    const std::lock_guard lock(mutex_);
    return ready_.has(id) || unwritten_.has(id);
}

Results::Figures Results::figures() const {
    const std::lock_guard lock(mutex_);
    Figures figures = figures_;
    figures.waiting = static_cast<std::int64_t>(ready_.size() + unwritten_.size());
    if (inside_ == 0) figures.outside_us += micros(instant_now() - outside_since_);
    return figures;
}

std::size_t Results::waiters() const {
    const std::lock_guard lock(mutex_);
    return waiters_;
}

// ---- the manager's thread ----

void Results::make_room() {
    if (fresh_.size() == fresh_.capacity()) fresh_.reserve(2 * fresh_.size() + 16);
}

void Results::add_ended(std::unique_ptr<TaskData> ended) {
    make_room();
    fresh_.push_back({std::move(ended), true});
}

void Results::add_unexpected(std::unique_ptr<TaskData> ended) {
    make_room();  // first, as what expect() has counted must come
    expect(*ended);
    add_ended(std::move(ended));
}

void Results::progress(const TaskData& range, const RangeProgress& news) {
    auto report = copy_of(range);
    TaskReport& told = report->edit_report();
    told.progress = news;
    const bool last = told.progress.complete;
    make_room();
    fresh_.push_back({std::move(report), last});
}

// Merges waiting reports of a range into one.
void Results::merge(Fresh& fresh) {
    const bool range = fresh.task->kind == TaskKind::range;
    const Position there = range ? ready_.report_of_range(fresh.task->id) : ready_.end();
    if (there == ready_.end()) {
        WaitingResults& to = is_written(*fresh.task) ? ready_ : unwritten_;
        return to.add_ended(std::move(fresh.task), fresh.last);
    }
    TaskReport& old = there->task->edit_report();
    TaskReport& news = fresh.task->edit_report();
    join(old.progress.done, news.progress.done);
    news.progress.done = std::move(old.progress.done);
    news.progress.done_now += old.progress.done_now;
    old = std::move(news);
    there->last = there->last || fresh.last;
    fresh.task.reset();
}

RangeProgress Results::cancelled(const TaskData& task) {
    publish();
    const std::lock_guard lock(mutex_);
    RangeProgress unheard;
    const Position report = task.kind == TaskKind::range ? ready_.report_of_range(task.id) : ready_.end();
    if (report != ready_.end()) unheard = std::move(ready_.take(report)->edit_report().progress);
    figures_.returned += static_cast<std::int64_t>(unheard.done_now);
    uncount(task.tag, task.by_tag_only);
    there_is_one_.notify_all();
    return unheard;
}

void Results::publish() {
    if (fresh_.empty()) return;
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        merge_fresh();
        wake = waiters_ > 0;
    }
    if (wake) there_is_one_.notify_all();
}

void Results::end() noexcept {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    try {
        make_all_ready();
    } catch (const std::bad_alloc&) {
    }
    there_is_one_.notify_all();
}

// Call it with the lock, like make_all_ready().
void Results::merge_fresh() {
    for (Fresh& one : fresh_)
        if (one.task) merge(one);  // otherwise it was merged before memory ran out
    fresh_.clear();
}

void Results::make_all_ready() {
    merge_fresh();
    while (unwritten_.size() > 0) unwritten_.move_to(ready_, unwritten_.any());
}

// ---- any thread ----

void Results::written(std::int64_t id) {
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        const Position place = unwritten_.of(id);
        if (place == unwritten_.end()) return;
        unwritten_.move_to(ready_, place);
        wake = waiters_ > 0;
    }
    if (wake) there_is_one_.notify_all();
}

void WaitingResults::add_ended(std::unique_ptr<TaskData>&& task, bool last) {
    std::list<Entry> entry;
    const Position place = entry.insert(entry.end(), Entry{nullptr, last});
    std::list<Position> of_tag{place};
    auto& tag = by_tag_[task->tag];
    by_id_.emplace(task->id, place);
    // Nothing below needs memory.
    place->of_tag = of_tag.begin();
    std::list<Entry>& list = list_of(*task);
    place->task = std::move(task);
    tag.splice(tag.end(), of_tag);
    list.splice(list.end(), entry);
}

void WaitingResults::remove(Position place, const TaskData& task) {
    const auto tag = by_tag_.find(task.tag);
    tag->second.erase(place->of_tag);
    if (tag->second.empty()) by_tag_.erase(tag);
    const auto [first, end] = by_id_.equal_range(task.id);
    by_id_.erase(std::find_if(first, end, [&](const auto& one) { return one.second == place; }));
    list_of(task).erase(place);
}

std::unique_ptr<TaskData> WaitingResults::take(Position place) {
    std::unique_ptr<TaskData> task = std::move(place->task);
    remove(place, *task);
    return task;
}

void WaitingResults::move_to(WaitingResults& other, Position place) {
    const TaskData& task = *place->task;
    other.add_ended(std::move(place->task), place->last);
    remove(place, task);
}

// If add_ended() ran out of memory, it leaves a tag without tasks.
WaitingResults::Position WaitingResults::first_of(const std::string& tag) {
    const auto found = by_tag_.find(tag);
    return found == by_tag_.end() || found->second.empty() ? end() : found->second.front();
}

template <class Wanted>
WaitingResults::Position WaitingResults::find(std::int64_t id, Wanted&& wanted) {
    const auto [first, last] = by_id_.equal_range(id);
    const auto found = std::find_if(first, last, [&](const auto& one) { return wanted(*one.second); });
    return found == last ? end() : found->second;
}

WaitingResults::Position WaitingResults::of(std::int64_t id) {
    return find(id, [](const Entry&) { return true; });
}

WaitingResults::Position WaitingResults::report_of_range(std::int64_t id) {
    return find(id, [](const Entry& entry) { return entry.task->kind == TaskKind::range; });
}

}  // namespace wq::api
