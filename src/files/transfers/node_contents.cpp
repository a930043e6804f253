#include "files/transfers/node_contents.h"

#include <algorithm>

namespace wq::files::transfers {

namespace {
constexpr std::size_t most_keys = 10'000;  // per worker: about 2 MB here
constexpr int most_misses = 3;
}  // namespace

void NodeContents::joined(WorkerId worker, std::string node) {
    if (node.empty() || members_.contains(worker)) return;
    ++on_node_[node];
    members_[worker].node = std::move(node);
}

NodeContents::Content* NodeContents::find(WorkerId worker, const std::string& key) {
    const auto member = members_.find(worker);
    if (member == members_.end()) return nullptr;
    const auto found = contents_.find({member->second.node, key});
    return found == contents_.end() ? nullptr : &found->second;
}

const WorkerId* NodeContents::holder_for(WorkerId worker, const Content& content) const {
    for (const WorkerId& holder : content.holders)
        if (holder != worker) return &holder;
    return nullptr;
}

NodeContents::Advice NodeContents::ask(const Wish& wish, const std::string& key) {
    const auto found = members_.find(wish.worker);
    if (found == members_.end() || alone(found->second)) return {};
    Member& member = found->second;
    Content& content = contents_[{member.node, key}];
    if (const WorkerId* const holder = holder_for(wish.worker, content))
        return {Answer::there, members_.at(*holder).folder};
    if (content.receiver && *content.receiver != wish.worker) {
        std::erase_if(content.waiting, [&](const Wish& other) {
            return other.worker == wish.worker && other.task == wish.task && other.attempt == wish.attempt &&
                   other.input == wish.input;
        });
        content.waiting.push_back(wish);
        member.awaited.insert(key);
        return {Answer::wait, {}};
    }
    content.receiver = wish.worker;
    keep(wish.worker, member, key);
    return {};
}

void NodeContents::keep(WorkerId worker, Member& member, const std::string& key) {
    member.keys.insert(key);
    if (member.keys.size() <= most_keys) return;
    const std::string other =
        *member.keys.begin() != key ? *member.keys.begin() : *std::next(member.keys.begin());
    const Content* const content = find(worker, other);
    if (content == nullptr || content->receiver == worker) return;  // it is on its way
    static_cast<void>(end_of_receiving(worker, other, false));
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
    for (const Wish& wish : wishes) members_.at(wish.worker).awaited.erase(key);
    if (content->holders.empty() && !content->receiver) contents_.erase({member.node, key});
    return wishes;
}

NodeContents::Wishes NodeContents::has(WorkerId worker, const std::string& key, std::string folder) {
    const auto found = members_.find(worker);
    if (found == members_.end() || (alone(found->second) && find(worker, key) == nullptr)) return {};
    found->second.folder = std::move(folder);
    contents_.try_emplace({found->second.node, key});
    keep(worker, found->second, key);
    return end_of_receiving(worker, key, true);
}

NodeContents::Wishes NodeContents::gave_up(WorkerId worker, const std::string& key) {
    const Content* const content = find(worker, key);
    if (content == nullptr || content->receiver != worker) return {};
    return end_of_receiving(worker, key, false);
}

void NodeContents::cut(WorkerId worker) {
    const auto found = members_.find(worker);
    if (found == members_.end()) return;
    for (const std::string& key : std::exchange(found->second.awaited, {}))
        if (Content* const content = find(worker, key))
            std::erase_if(content->waiting, [&](const Wish& wish) { return wish.worker == worker; });
}

NodeContents::Wishes NodeContents::left(WorkerId worker) {
    const auto found = members_.find(worker);
    if (found == members_.end()) return {};
    cut(worker);
    Wishes all;
    for (const std::string& key : std::set<std::string>(found->second.keys)) {
        const Wishes some = end_of_receiving(worker, key, false);
        all.insert(all.end(), some.begin(), some.end());
    }
    if (const auto node = on_node_.find(found->second.node); --node->second == 0) on_node_.erase(node);
    members_.erase(found);
    return all;
}

NodeContents::Wishes NodeContents::missed(WorkerId worker, const std::string& key) {
    const auto found = members_.find(worker);
    if (found == members_.end()) return {};
    if (++found->second.misses > most_misses) return left(worker);
    const Content* const content = find(worker, key);
    const WorkerId* const holder = content == nullptr ? nullptr : holder_for(worker, *content);
    return holder == nullptr ? Wishes{} : end_of_receiving(*holder, key, false);
}

}  // namespace wq::files::transfers
