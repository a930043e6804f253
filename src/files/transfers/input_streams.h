// Tracks which workers have which content in their caches, and which wait for it: on each node it is sent to
// one worker, and the others read it there.
//
// If an entry is forgotten here (a worker has very many contents, or is alone on its node), the content is
// only sent once more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "files/transfers/transfer_tally.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

class NodeContents {
  public:
    // An input of a lease that a worker requests.
    struct Wish {
        WorkerId worker;
        TaskId task;
        Attempt attempt = 0;
        std::uint32_t input = 0;
        std::uint32_t stream = 0;  // as requested
        bool operator==(const Wish&) const = default;
    };

    // `node`: equal for workers that may see each other's folders; empty: the worker shares with none.
    void joined(WorkerId worker, std::string node);

    // How to answer a request for the content `key`.
    enum class Answer { send, wait, there };
    struct Advice {
        Answer answer = Answer::send;
        std::string folder;  // there: folder of the worker that has it
    };
    Advice ask(const Wish& wish, const std::string& key);

    // Each returns the requests that waited, which must be repeated.
    using Wishes = std::vector<Wish>;
    Wishes has(WorkerId worker, const std::string& key,
               std::string folder);  // the worker reports it, and its folder
    Wishes gave_up(WorkerId worker,
                   const std::string& key);  // the worker was to receive it, but does not have it
    Wishes left(WorkerId worker);

    // It is disconnected: it will repeat its requests.
    void cut(WorkerId worker);
    // The worker did not find what it was told is there. A worker that often does not sees no other's folder,
    // so it stops sharing. Returns waiting requests, as above.
    Wishes missed(WorkerId worker, const std::string& key);

  private:
    struct Member {
        std::string node;
        std::string folder;          // of its cache
        std::set<std::string> keys;  // that it has or is receiving
        std::set<std::string> awaited;
        int misses = 0;
    };
    struct Content {
        std::set<WorkerId> holders;
        std::optional<WorkerId> receiver;  // this worker is receiving it
        Wishes waiting;
    };
    using OnNode = std::pair<std::string, std::string>;  // node, key

    bool alone(const Member& member) const { return on_node_.at(member.node) == 1; }
    Content* find(WorkerId worker, const std::string& key);
    const WorkerId* holder_for(WorkerId worker, const Content& content) const;
    void keep(WorkerId worker, Member& member, const std::string& key);
    enum class Received : std::uint8_t { whole, nothing };
    Wishes end_of_receiving(WorkerId worker, const std::string& key, Received received);

    std::map<WorkerId, Member> members_;
    std::map<std::string, int> on_node_;  // number of members
    std::map<OnNode, Content> contents_;
};

// Sends inputs to the workers that ask for them, as far as each worker has asked. On each node, one worker
// receives a content, and the others copy it from that worker.
//
// An input is read when it is sent: a cached one must still have the content of its key.
class InputStreams {
  public:
    InputStreams(FileJobs& jobs, TransferTally& tally, SendToWorker send)
        : jobs_(jobs), tally_(tally), send_(std::move(send)) {}

    // `node`: equal for workers that may see each other's files; empty: the worker shares with none.
    void joined(WorkerId worker, std::string node) { contents_.joined(worker, std::move(node)); }
    void left(WorkerId worker) { ask_again(contents_.left(worker)); }  // its leases are over

    // The lease is being sent. `keys`: of its contents, by input; empty: none.
    void open(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files,
              std::vector<std::string> keys);
    void close(LeaseKey key);  // the lease is over
    // The worker, which has these leases, is disconnected: unfinished transfers are repeated.
    void cut(WorkerId worker, const std::set<LeaseKey>& leases);

    // Ignored if the worker does not hold the lease.
    void on(WorkerId worker, const net::messages::WantInput& message);
    void on(WorkerId worker, const net::messages::HaveInput& message);

  private:
    struct Stream;
    struct Lease {
        WorkerId worker;
        std::shared_ptr<const trees::TaskFiles> files;
        std::vector<std::string> keys;
        std::map<std::uint32_t, std::shared_ptr<Stream>> streams;  // by input
    };
    Lease* find(WorkerId worker, TaskId task, Attempt attempt);
    bool is_elsewhere(WorkerId worker, const Lease& lease, const net::messages::WantInput& message);
    void ask_again(const NodeContents::Wishes& wishes);
    void send_more(const std::shared_ptr<Stream>& stream);
    void sent(const std::shared_ptr<Stream>& stream, std::string bytes, bool last);
    void failed(Stream& stream, const std::string& why);
    void end_streams(Lease& lease, NodeContents::Wishes& wishes);

    FileJobs& jobs_;
    TransferTally& tally_;
    SendToWorker send_;
    std::map<LeaseKey, Lease> leases_;
    NodeContents contents_;
};

}  // namespace wq::files::transfers
