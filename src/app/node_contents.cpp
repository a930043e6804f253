#include "app/node_contents.h"

#include <utility>

namespace wq::app {

void NodeContents::joined(WorkerId worker, std::string node) {
    if (!node.empty()) members_[worker].node = std::move(node);
}

NodeContents::Content* NodeContents::find(WorkerId worker, const std::string& key) {
    const auto member = members_.find(worker);
    if (member == members_.end()) return nullptr;
    const auto found = contents_.find({member->second.node, key});
    return found == contents_.end() ? nullptr : &found->second;
}

NodeContents::Advice NodeContents::ask(const Wish& wish, const std::string& key) {
    const auto member = members_.find(wish.worker);
    if (member == members_.end()) return {};
    Content& content = contents_[{member->second.node, key}];
    for (const WorkerId holder : content.holders)
        if (holder != wish.worker) return {Answer::there, members_.at(holder).folder};
    if (content.receiver && *content.receiver != wish.worker) {
        content.waiting.push_back(wish);
        return {Answer::wait, {}};
    }
    content.receiver = wish.worker;
    member->second.keys.insert(key);
    return {};
}

NodeContents::Wishes NodeContents::end_of_receiving(WorkerId worker, const std::string& key, bool has) {
    Content* const content = find(worker, key);
    if (content == nullptr) return {};
    Member& member = members_.at(worker);
    if (has) {
        content->holders.insert(worker);
        member.keys.insert(key);
    } else {
        content->holders.erase(worker);
        member.keys.erase(key);
    }
    Wishes wishes;
    if (has || content->receiver == worker) wishes.swap(content->waiting);
    if (content->receiver == worker) content->receiver.reset();
    if (content->holders.empty() && !content->receiver) contents_.erase({member.node, key});
    return wishes;
}

NodeContents::Wishes NodeContents::has(WorkerId worker, const std::string& key, std::string folder) {
    const auto member = members_.find(worker);
    if (member == members_.end()) return {};
    member->second.folder = std::move(folder);
    return end_of_receiving(worker, key, true);
}

NodeContents::Wishes NodeContents::gave_up(WorkerId worker, const std::string& key) {
    const Content* const content = find(worker, key);
    if (content == nullptr || content->receiver != worker) return {};
    return end_of_receiving(worker, key, false);
}

NodeContents::Wishes NodeContents::left(WorkerId worker) {
    const auto member = members_.find(worker);
    if (member == members_.end()) return {};
    Wishes all;
    for (const std::string& key : std::set<std::string>(member->second.keys)) {
        const Wishes some = end_of_receiving(worker, key, false);
        all.insert(all.end(), some.begin(), some.end());
    }
    members_.erase(worker);
    return all;
}

void NodeContents::missed(WorkerId worker, const std::string& key) {
    Content* const content = find(worker, key);
    if (content == nullptr) return;
    for (const WorkerId holder : std::exchange(content->holders, {})) members_.at(holder).keys.erase(key);
}

}  // namespace wq::app
