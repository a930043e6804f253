// Function calls by task id.
#pragma once

#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "manager/task_table.h"
#include "ranks/tickets/sealed_batch.h"

namespace wq::testing {

class CallTable final : public manager::TaskTexts {
  public:
    TaskId add(net::messages::Call call) { return add_range(std::move(call), 0, 1, false); }
    // Adds `count` calls with the one argument first_index, first_index + 1, ...; returns the first one's id.
    TaskId add_range(net::messages::Call call, std::int64_t first_index, std::uint64_t count,
                     bool range = true) {
        entries_.emplace(size_, Entry{std::move(call), first_index, count, range});
        return TaskId(std::exchange(size_, size_ + count));
    }
    void forget(TaskId task) {
        if (const auto found = entries_.find(task.value()); found != entries_.end() && !found->second.range)
            entries_.erase(found);
    }
    std::uint64_t size() const { return size_; }

    manager::TaskText text(TaskId task) const override {
        const auto& [first, entry] = find(task);
        manager::TaskText text;
        text.call = entry.call;
        if (entry.range)
            text.call->arguments = ranks::tickets::index_arguments(
                entry.first_index + static_cast<std::int64_t>(task.value() - first));
        return text;
    }
    std::uint64_t line(TaskId) const override { return 0; }
    std::string command(TaskId task) const override { return find(task).second.call.function; }
    records::journal::TaskKey key(TaskId task) const override { return {task.value()}; }
    void describe(const IntervalSet& tasks, net::messages::SealedBatch& sealed) const override {
        const auto& [first, entry] = find(TaskId(tasks.front()->first));
        bool all = entry.range;
        const std::uint64_t end = first + entry.count;
        tasks.for_each([&](Interval part) { all = all && part.end <= end; });
        if (!all) return;
        sealed.call = entry.call;
        sealed.first_item = TaskId(first);
        sealed.first_index = entry.first_index;
    }
    void input_ended() override {}

  private:
    struct Entry {
        net::messages::Call call;
        std::int64_t first_index = 0;
        std::uint64_t count = 1;
        bool range = false;
    };
    const std::pair<const std::uint64_t, Entry>& find(TaskId task) const {
        return *std::prev(entries_.upper_bound(task.value()));
    }

    std::uint64_t size_ = 0;
    std::map<std::uint64_t, Entry> entries_;
};

}  // namespace wq::testing
