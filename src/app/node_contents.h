// Which workers have which content in their caches, and who waits for it: on a node it is sent to one worker,
// and the others read it there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace wq::app {

class NodeContents {
  public:
    // An input of a lease that a worker asks for.
    struct Wish {
        WorkerId worker;
        TaskId task;
        Attempt attempt = 0;
        std::uint32_t input = 0;
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

    // Nobody on the worker's node is to be taken for one that has it: this one did not find it there.
    void missed(WorkerId worker, const std::string& key);

  private:
    struct Member {
        std::string node;
        std::string folder;          // of its cache
        std::set<std::string> keys;  // that it has, or is sent
    };
    struct Content {
        std::set<WorkerId> holders;
        std::optional<WorkerId> receiver;  // it is sent to this one
        Wishes waiting;
    };
    using Place = std::pair<std::string, std::string>;  // node, key

    Content* find(WorkerId worker, const std::string& key);
    Wishes end_of_receiving(WorkerId worker, const std::string& key, bool has);

    std::map<WorkerId, Member> members_;
    std::map<Place, Content> contents_;
};

}  // namespace wq::app
