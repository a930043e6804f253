// Hosts whose workers get no tasks: for good, or until a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace wq::core {

struct HostBlock {
    std::optional<Instant> until;  // nothing: until it is taken back
    bool by_itself = false;        // the manager's own decision, not the user's
};

class HostBlocks {
  public:
    // In place of what was said of the host before.
    void put(const std::string& host, const HostBlock& block);
    bool remove(const std::string& host);  // false: it was not blocked
    const HostBlock* find(const std::string& host) const;
    bool empty() const { return blocks_.empty(); }
    std::size_t size() const { return blocks_.size(); }
    const std::map<std::string, HostBlock>& all() const { return blocks_; }
    bool any_by_itself() const { return by_itself_ > 0; }

    // The end that comes first.
    std::optional<Instant> next_end() const;
    std::vector<std::string> over(Instant now) const;

    std::optional<std::string> audit() const;

  private:
    std::map<std::string, HostBlock> blocks_;
    std::set<std::pair<Instant, std::string>> ends_;
    std::size_t by_itself_ = 0;
};

}  // namespace wq::core
