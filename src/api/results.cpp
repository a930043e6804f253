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
    if (!task.tag.empty()) ++tagged_[task.tag];
}

void Results::forget(const TaskData& task) {
    const std::lock_guard lock(mutex_);
    uncount(task);
    there_is_one_.notify_all();
}

void Results::uncount(const TaskData& task) {
    --to_come_;
    if (task.tag.empty()) return;
    const auto tagged = tagged_.find(task.tag);
    if (tagged != tagged_.end() && --tagged->second == 0) tagged_.erase(tagged);
}

std::deque<Results::Entry>::iterator Results::find(const std::string* tag) {
    if (tag == nullptr) return ready_.begin();
    return std::find_if(ready_.begin(), ready_.end(),
                        [&](const Entry& entry) { return entry.task->tag == *tag; });
}

bool Results::none_to_come(const std::string* tag) const {
    if (ended_) return true;
    if (tag == nullptr) return to_come_ == 0;
    // Tasks without a tag are counted by none of the tags.
    return tag->empty() ? to_come_ == 0 : !tagged_.contains(*tag);
}

std::unique_ptr<TaskData> Results::pop(std::deque<Entry>::iterator entry, bool cancelled) {
    Entry taken = std::move(*entry);
    if (entry == ready_.begin())
        ready_.pop_front();
    else
        ready_.erase(entry);
    TaskData& task = *taken.task;
    if (task.kind == TaskKind::range) range_reports_.erase(task.id);
    if (taken.last) uncount(task);
    if (!cancelled) {
        const bool failed = task.report && task.report->result != TaskResult::success;
        const auto count =
            task.kind == TaskKind::range ? static_cast<std::int64_t>(task.tell().progress.done_now) : 1;
        figures_.returned += count;
        if (failed) figures_.failed += count;
    }
    return std::move(taken.task);
}

std::unique_ptr<TaskData> Results::wait(std::optional<Instant> limit, const std::string* tag) {
    const Instant began = instant_now();
    std::unique_lock lock(mutex_);
    if (inside_++ == 0) figures_.outside_us += micros(began - outside_since_);
    std::unique_ptr<TaskData> task;
    for (;;) {
        if (const auto found = find(tag); found != ready_.end()) {
            task = pop(found, false);
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
        if (const auto found = find(tag); found != ready_.end()) task = pop(found, false);
        break;
    }
    if (--inside_ == 0) outside_since_ = instant_now();
    return task;
}

std::unique_ptr<TaskData> Results::take(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(ready_.begin(), ready_.end(),
                                    [&](const Entry& entry) { return entry.task->id == id && entry.last; });
    return found == ready_.end() ? nullptr : pop(found, true);
}

std::unique_ptr<TaskData> Results::take_tagged(const std::string& tag) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(ready_.begin(), ready_.end(),
                                    [&](const Entry& entry) { return entry.task->tag == tag && entry.last; });
    return found == ready_.end() ? nullptr : pop(found, true);
}

std::vector<std::unique_ptr<TaskData>> Results::take_category(const std::string* category) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<TaskData>> taken;
    for (std::size_t i = 0; i < ready_.size();) {
        if (category != nullptr && ready_[i].task->category != *category)
            ++i;
        else
            taken.push_back(pop(ready_.begin() + static_cast<std::ptrdiff_t>(i), true));
    }
    return taken;
}

bool Results::empty() const {
    const std::lock_guard lock(mutex_);
    return to_come_ == 0;
}

bool Results::holds(std::int64_t id) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(ready_.begin(), ready_.end(),
                       [&](const Entry& entry) { return entry.task->id == id; });
}

Results::Figures Results::figures() const {
    const std::lock_guard lock(mutex_);
    Figures figures = figures_;
    figures.waiting = static_cast<std::int64_t>(ready_.size());
    if (inside_ == 0) figures.outside_us += micros(instant_now() - outside_since_);
    return figures;
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

void Results::merge(Entry entry) {
    if (entry.task->kind == TaskKind::range) {
        const auto [there, is_new] = range_reports_.try_emplace(entry.task->id, entry.task.get());
        if (!is_new) {
            TaskReport& old = there->second->tell();
            TaskReport news = std::move(entry.task->tell());
            join(old.progress.done, news.progress.done);
            news.progress.done = std::move(old.progress.done);
            news.progress.done_now += old.progress.done_now;
            old = std::move(news);
            if (entry.last)
                for (Entry& ready : ready_)
                    if (ready.task.get() == there->second) ready.last = true;
            return;
        }
    }
    ready_.push_back(std::move(entry));
}

void Results::publish() {
    if (fresh_.empty()) return;
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        for (Entry& entry : fresh_) merge(std::move(entry));
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
