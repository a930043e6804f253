// Hosts whose workers get no tasks: permanently, or until a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace wq::engine::model {

struct HostBlock {
    std::optional<Instant> until;  // nullopt: until it is unblocked
    bool by_itself = false;        // the manager's decision, not the user's
};

class HostBlocks {
  public:
    // Replaces the host's earlier entry.
    void put(const std::string& host, const HostBlock& block);
    bool remove(const std::string& host);  // false: it was not blocked
    const HostBlock* find(const std::string& host) const;
    bool empty() const { return blocks_.empty(); }
    std::size_t size() const { return blocks_.size(); }
    const std::map<std::string, HostBlock>& all() const { return blocks_; }
    bool any_by_itself() const { return by_itself_ > 0; }

    // The earliest end.
    std::optional<Instant> next_end() const;
    std::vector<std::string> over(Instant now) const;

    std::optional<std::string> audit() const;

  private:
    std::map<std::string, HostBlock> blocks_;
    std::set<std::pair<Instant, std::string>> ends_;
    std::size_t by_itself_ = 0;
};

}  // namespace wq::engine::model
