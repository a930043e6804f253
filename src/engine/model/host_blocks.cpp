#include "engine/model/host_blocks.h"

#include <algorithm>

namespace wq::engine::model {

void HostBlocks::put(const std::string& host, const HostBlock& block) {
    remove(host);
    blocks_.emplace(host, block);
    if (block.until) ends_.insert({*block.until, host});
    if (block.by_itself) ++by_itself_;
}

bool HostBlocks::remove(const std::string& host) {
    const auto found = blocks_.find(host);
    if (found == blocks_.end()) return false;
    if (found->second.until) ends_.erase({*found->second.until, host});
    if (found->second.by_itself) --by_itself_;
    blocks_.erase(found);
    return true;
}

const HostBlock* HostBlocks::find(const std::string& host) const {
    const auto found = blocks_.find(host);
    return found == blocks_.end() ? nullptr : &found->second;
}

std::optional<Instant> HostBlocks::next_end() const {
    if (ends_.empty()) return std::nullopt;
    return ends_.begin()->first;
}

std::vector<std::string> HostBlocks::over(Instant now) const {
    std::vector<std::string> hosts;
    for (const auto& [end, host] : ends_) {
        if (end > now) break;
        hosts.push_back(host);
    }
    return hosts;
}

std::optional<std::string> HostBlocks::audit() const {
    std::size_t ends = 0;
    std::size_t by_itself = 0;
    for (const auto& [host, block] : blocks_) {
        if (block.until && !ends_.contains({*block.until, host}))
            return "the block of " + host + " has no end";
        ends += block.until ? 1 : 0;
        by_itself += block.by_itself ? 1 : 0;
    }
    if (ends != ends_.size()) return "there are too many ends of blocks";
    if (by_itself != by_itself_) return "the count of excluded hosts is wrong";
    return std::nullopt;
}

}  // namespace wq::engine::model
