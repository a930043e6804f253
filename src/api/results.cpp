#include "api/results.h"

#include <algorithm>

namespace wq::api {

namespace {

std::int64_t micros(Duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// Neighbours become one.
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

}  // namespace

// ---- the program's threads ----

void Results::expect(const TaskData& task) {
    const std::lock_guard lock(mutex_);
    ++to_come_;
    ++tagged_[task.tag];
}

void Results::forget(const TaskData& task) {
    const std::lock_guard lock(mutex_);
    uncount(task);
    there_is_one_.notify_all();
}

void Results::uncount(const TaskData& task) {
    --to_come_;
    const auto tagged = tagged_.find(task.tag);
    if (tagged != tagged_.end() && --tagged->second == 0) tagged_.erase(tagged);
}

Results::Place Results::find(const std::string* tag) {
    return tag == nullptr ? ready_.begin() : ready_.first_of(*tag);
}

bool Results::none_to_come(const std::string* tag) const {
    return ended_ || (tag == nullptr ? to_come_ == 0 : !tagged_.contains(*tag));
}

std::unique_ptr<TaskData> Results::pop(Place place) {
    const bool last = place->last;
    std::unique_ptr<TaskData> task = ready_.take(place);
    if (last) uncount(*task);
    return task;
}

std::unique_ptr<TaskData> Results::pop_returned(Place place) {
    std::unique_ptr<TaskData> task = pop(place);
    const bool failed = task->report && task->report->result != TaskResult::success;
    const auto count =
        task->kind == TaskKind::range ? static_cast<std::int64_t>(task->tell().progress.done_now) : 1;
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

// A report of a range that goes on is none.
std::unique_ptr<TaskData> Results::pop_ended(Place place) {
    return place == ready_.end() || !place->last ? nullptr : pop(place);
}

std::unique_ptr<TaskData> Results::take(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    return pop_ended(ready_.of(id));
}

std::unique_ptr<TaskData> Results::take_tagged(const std::string& tag) {
    const std::lock_guard lock(mutex_);
    return pop_ended(ready_.first_of(tag));
}

std::vector<std::unique_ptr<TaskData>> Results::take_category(const std::string* category) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<TaskData>> taken;
    for (Place place = ready_.begin(); place != ready_.end();) {
        const Place next = std::next(place);
        if (place->last && (category == nullptr || place->task->category == *category))
            taken.push_back(pop(place));
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
    return ready_.has(id);
}

Results::Figures Results::figures() const {
    const std::lock_guard lock(mutex_);
    Figures figures = figures_;
    figures.waiting = static_cast<std::int64_t>(ready_.size());
    if (inside_ == 0) figures.outside_us += micros(instant_now() - outside_since_);
    return figures;
}

std::size_t Results::waiters() const {
    const std::lock_guard lock(mutex_);
    return waiters_;
}

// ---- the manager's thread ----

void Results::put(std::unique_ptr<TaskData> ended, bool extra) {
    if (extra) expect(*ended);
    fresh_.push_back({std::move(ended), true});
}

void Results::progress(const TaskData& range, RangeProgress news) {
    auto report = std::make_unique<TaskData>();
    report->kind = TaskKind::range;
    report->mode = range.mode;
    report->id = range.id;
    report->text = range.text;
    report->tag = range.tag;
    report->category = range.category;
    report->priority = range.priority;
    if (range.specs) report->specs = std::make_unique<TaskSpecs>(*range.specs);
    TaskReport& told = report->tell();
    if (range.report) told = *range.report;
    told.progress = std::move(news);
    const bool last = told.progress.complete;
    fresh_.push_back({std::move(report), last});
}

// Reports of a range that wait become one.
void Results::merge(Fresh fresh) {
    const bool range = fresh.task->kind == TaskKind::range;
    const Place there = range ? ready_.report_of_range(fresh.task->id) : ready_.end();
    if (there == ready_.end()) return ready_.put(std::move(fresh.task), fresh.last);
    TaskReport& old = there->task->tell();
    TaskReport news = std::move(fresh.task->tell());
    join(old.progress.done, news.progress.done);
    news.progress.done = std::move(old.progress.done);
    news.progress.done_now += old.progress.done_now;
    old = std::move(news);
    there->last = there->last || fresh.last;
}

RangeProgress Results::cancelled(const TaskData& task) {
    publish();
    const std::lock_guard lock(mutex_);
    RangeProgress unheard;
    const Place report = task.kind == TaskKind::range ? ready_.report_of_range(task.id) : ready_.end();
    if (report != ready_.end()) unheard = std::move(ready_.take(report)->tell().progress);
    figures_.returned += static_cast<std::int64_t>(unheard.done_now);
    uncount(task);
    there_is_one_.notify_all();
    return unheard;
}

void Results::publish() {
    if (fresh_.empty()) return;
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        for (Fresh& one : fresh_) merge(std::move(one));
        wake = waiters_ > 0;
    }
    fresh_.clear();
    if (wake) there_is_one_.notify_all();
}

void Results::end() {
    publish();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    there_is_one_.notify_all();
}

}  // namespace wq::api
