// Receives outputs, one of a task after the other, and data appended to outputs while the task runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/descriptor.h"
#include "base/ids.h"
#include "files/transfers/transfer_tally.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

class OutputTaking {
  public:
    OutputTaking(FileJobs& jobs, TransferTally& tally, SendToWorker send)
        : jobs_(jobs), tally_(tally), send_(std::move(send)) {}

    void open(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files);
    // The task's stdout and stderr come behind its outputs, of at most so many bytes each; it may have no
    // other files.
    void expect_streams(WorkerId worker, LeaseKey key, std::uint64_t limit);
    // Files without a name, for streams that came whole; else invalid. A NUL follows the bytes.
    std::array<Descriptor, 2> take_streams(WorkerId worker, LeaseKey key);
    void close(LeaseKey key);  // the lease is over
    void cut(LeaseKey key);    // its worker is disconnected: unfinished transfers are repeated

    // False: the worker sent more than it may. Ignored if it does not hold the lease.
    bool on(WorkerId worker, net::messages::OutputPart& message);
    bool on(WorkerId worker, net::messages::WatchedPart& message);
    void on(WorkerId worker, const net::messages::OutputsSent& message);

  private:
    struct Taking;
    struct Lease {
        WorkerId worker;
        std::shared_ptr<const trees::TaskFiles> files;
        std::shared_ptr<Taking> taking;  // null: nothing has arrived
        std::shared_ptr<Taking> kept{};  // finished before its worker was disconnected
        std::uint64_t stream_limit = 0;
    };
    Lease* find(WorkerId worker, TaskId task, Attempt attempt);
    std::shared_ptr<Taking> taking_of(Lease& lease);
    void leave_off(Lease& lease);
    bool take_stream(WorkerId worker, Lease& lease, net::messages::OutputPart& message);

    FileJobs& jobs_;
    TransferTally& tally_;
    SendToWorker send_;
    std::map<LeaseKey, Lease> leases_;
};

}  // namespace wq::files::transfers
