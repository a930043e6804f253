// Sends inputs to the workers that ask for them, as far as each worker has asked. On each node, one worker
// receives a content, and the others copy it from that worker.
//
// An input is read when it is sent: a cached one must still have the content of its key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "files/transfers/file_jobs.h"
#include "files/transfers/lease_key.h"
#include "files/transfers/node_contents.h"
#include "files/transfers/transfer_tally.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

class InputStreams {
  public:
    InputStreams(FileJobs& jobs, TransferTally& tally, TellWorker tell)
        : jobs_(jobs), tally_(tally), tell_(std::move(tell)) {}

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
    TellWorker tell_;
    std::map<LeaseKey, Lease> leases_;
    NodeContents contents_;
};

}  // namespace wq::files::transfers
