// Results that wait for the program, in the order of their ends. Finding the first of all, the first of a
// tag, or one by id takes the same time however many wait.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "api/task_data.h"

namespace wq::api {

class WaitingResults {
  public:
    struct Entry {
        std::unique_ptr<TaskData> task;
        bool last = true;  // no other end of this id will come
        std::list<std::list<Entry>::iterator>::iterator of_tag{};
    };
    using Place = std::list<Entry>::iterator;

    std::size_t size() const { return all_.size() + by_tag_only_.size(); }
    // Without those that only their tag returns.
    std::size_t untagged() const { return all_.size(); }
    Place begin() { return all_.begin(); }
    Place end() { return all_.end(); }
    // Any of all, of which there must be one.
    Place any() { return all_.empty() ? by_tag_only_.begin() : all_.begin(); }

    // If it throws std::bad_alloc, nothing has changed.
    void put(std::unique_ptr<TaskData>&& task, bool last);
    std::unique_ptr<TaskData> take(Place place);
    // Throws like put().
    void move_to(WaitingResults& other, Place place);

    // end(): none.
    Place first_of(const std::string& tag);
    Place of(std::int64_t id);
    Place report_of_range(std::int64_t id);
    bool has(std::int64_t id) const { return by_id_.contains(id); }

  private:
    void remove(Place place, const TaskData& task);
    template <class Wanted>
    Place find(std::int64_t id, Wanted&& wanted);

    std::list<Entry>& list_of(const TaskData& task) { return task.by_tag_only ? by_tag_only_ : all_; }

    std::list<Entry> all_;
    std::list<Entry> by_tag_only_;
    std::unordered_map<std::string, std::list<Place>> by_tag_;
    // A range has the same id as its first call, which may also wait.
    std::unordered_multimap<std::int64_t, Place> by_id_;
};

}  // namespace wq::api
