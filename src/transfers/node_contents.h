// Which workers have which content in their caches, and who waits for it: on a node it is sent to one worker,
// and the others read it there.
//
// What is forgotten here (a worker has very many contents, or is alone on its node) is only sent once more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace wq::transfers {

class NodeContents {
  public:
    // An input of a lease that a worker asks for.
    struct Wish {
        WorkerId worker;
        TaskId task;
        Attempt attempt = 0;
        std::uint32_t input = 0;
        std::uint32_t stream = 0;  // as it asks for it
        bool operator==(const Wish&) const = default;
    };

    // `node`: equal for workers that may see each other's folders; empty: it shares with none.
    void joined(WorkerId worker, std::string node);

    // What is to be done about a wish for the content `key`.
    enum class Answer { send, wait, there };
    struct Advice {
        Answer answer = Answer::send;
        std::string folder;  // there: of the worker that has it
    };
    Advice ask(const Wish& wish, const std::string& key);

    // Each returns the wishes that waited: they are to be asked again.
    using Wishes = std::vector<Wish>;
    Wishes has(WorkerId worker, const std::string& key, std::string folder);  // it says so, and where
    Wishes gave_up(WorkerId worker, const std::string& key);  // it was to be sent it, and has it not
    Wishes left(WorkerId worker);

    // Its link is cut: it will ask anew for what it waits for.
    void cut(WorkerId worker);
    // It did not find what it was told is there. Who often does not, sees no other's folder: it shares no
    // more. Returned as above.
    Wishes missed(WorkerId worker, const std::string& key);

  private:
    struct Member {
        std::string node;
        std::string folder;          // of its cache
        std::set<std::string> keys;  // that it has, or is sent
        std::set<std::string> awaited;
        int misses = 0;
    };
    struct Content {
        std::set<WorkerId> holders;
        std::optional<WorkerId> receiver;  // it is sent to this one
        Wishes waiting;
    };
    using Place = std::pair<std::string, std::string>;  // node, key

    bool alone(const Member& member) const { return on_node_.at(member.node) == 1; }
    Content* find(WorkerId worker, const std::string& key);
    const WorkerId* holder_for(WorkerId worker, const Content& content) const;
    void keep(WorkerId worker, Member& member, const std::string& key);
    Wishes end_of_receiving(WorkerId worker, const std::string& key, bool has);

    std::map<WorkerId, Member> members_;
    std::map<std::string, int> on_node_;  // members
    std::map<Place, Content> contents_;
};

}  // namespace wq::transfers
