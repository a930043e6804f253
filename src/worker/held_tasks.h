// The tasks that a worker holds: it has accepted them, and not yet told the manager how they ended.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "node/launcher/launcher.h"
#include "worker/manager_link.h"

namespace wq::worker {

class HeldTasks {
  public:
    using Key = std::pair<TaskId, Attempt>;

    explicit HeldTasks(ManagerLink& link) : link_(link) {}

    // False: it holds the task already. `ticket`: it was claimed, not leased.
    bool add(Key key, bool ticket) { return tasks_.emplace(key, ticket).second; }
    // What is in files is sent as far as a message can hold it.
    void answer_end(node::launcher::TaskEnded& end);
    void answer_loss(Key key, const std::string& why);  // with its launcher or workspace
    void give_back(Key key);                            // it has not started
    void clear() { tasks_.clear(); }                    // without answers

    const std::map<Key, bool>& all() const { return tasks_; }  // true: claimed by ticket
    std::vector<Key> keys() const;
    bool contains(const Key& key) const { return tasks_.contains(key); }
    std::size_t size() const { return tasks_.size(); }

  private:
    bool take(const Key& key);

    ManagerLink& link_;
    std::map<Key, bool> tasks_;  // true: claimed by ticket
};

}  // namespace wq::worker
