// Outputs come home, one of a task after the other; and what grows while its task runs.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/ids.h"
#include "files/task_files.h"
#include "transfers/file_jobs.h"
#include "transfers/lease_key.h"
#include "transfers/transfer_tally.h"
#include "wire/messages.h"

namespace wq::transfers {

class OutputTaking {
  public:
    OutputTaking(FileJobs& jobs, TransferTally& tally, TellWorker tell)
        : jobs_(jobs), tally_(tally), tell_(std::move(tell)) {}

    void open(WorkerId worker, LeaseKey key, std::shared_ptr<const files::TaskFiles> files);
    void close(LeaseKey key);  // the lease is over
    void cut(LeaseKey key);    // its worker's link is: what was on its way comes anew

    // False: the worker was not to send so much. Of leases that it does not hold nothing comes of it.
    bool on(WorkerId worker, wire::OutputPart& message);
    bool on(WorkerId worker, wire::WatchedPart& message);
    void on(WorkerId worker, const wire::OutputsSent& message);

  private:
    struct Taking;
    struct Lease {
        WorkerId worker;
        std::shared_ptr<const files::TaskFiles> files;
        std::shared_ptr<Taking> taking;  // null: nothing has come
    };
    Lease* find(WorkerId worker, TaskId task, Attempt attempt);
    std::shared_ptr<Taking> taking_of(Lease& lease);
    void leave_off(Lease& lease);

    FileJobs& jobs_;
    TransferTally& tally_;
    TellWorker tell_;
    std::map<LeaseKey, Lease> leases_;
};

}  // namespace wq::transfers
