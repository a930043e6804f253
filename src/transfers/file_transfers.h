// The manager's end of the files of tasks. What a lease says of its inputs is found out before it leaves;
// then workers ask for what they do not have, and send what the task has made.
//
// Files are touched in the background only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "transfers/file_jobs.h"
#include "transfers/input_preparation.h"
#include "transfers/input_streams.h"
#include "transfers/lease_key.h"
#include "transfers/output_taking.h"
#include "transfers/transfer_tally.h"
#include "wire/messages.h"

namespace wq::transfers {

class FileTransfers {
  public:
    using Prepared = InputPreparation::Prepared;

    // `background` ends before this does, or with it. `each` is told of every transfer.
    FileTransfers(
        Background& background, TellWorker tell,
        std::function<void(const Transfer&)> each = [](const Transfer&) {});

    // `then` is called later, unless the lease was dropped before.
    void prepare(WorkerId worker, TaskId task, Attempt attempt, std::shared_ptr<const files::TaskFiles> files,
                 std::function<void(const Prepared&)> then);

    // `node`: equal for workers that may see each other's files; empty: it shares with none.
    void joined(WorkerId worker, std::string node) { inputs_.joined(worker, std::move(node)); }

    // What workers say. Of leases that they do not hold nothing comes of it. False: a worker was not to send
    // so much.
    void on(WorkerId worker, const wire::WantInput& message) { inputs_.on(worker, message); }
    void on(WorkerId worker, const wire::HaveInput& message) { inputs_.on(worker, message); }
    bool on(WorkerId worker, wire::OutputPart& message) { return outputs_.on(worker, message); }
    bool on(WorkerId worker, wire::WatchedPart& message) { return outputs_.on(worker, message); }
    void on(WorkerId worker, const wire::OutputsSent& message) { outputs_.on(worker, message); }

    void drop(TaskId task, Attempt attempt);                         // the lease is over
    void drop_if_of(WorkerId worker, TaskId task, Attempt attempt);  // the same, where this worker has it
    void drop(Interval tasks);                                       // they are cancelled
    std::vector<LeaseKey> drop(WorkerId worker);                     // all its leases are over: these
    void cut(WorkerId worker);  // its link is: what was on its way comes anew

    const TransferTally& tally() const { return tally_; }

  private:
    struct Lease {
        WorkerId worker;
        std::shared_ptr<InputPreparation::Lease> preparation;
    };
    using Leases = std::map<LeaseKey, Lease>;
    void prepared(WorkerId worker, LeaseKey key, std::shared_ptr<const files::TaskFiles> files,
                  const Prepared& result);
    Leases::iterator end(Leases::iterator lease);

    FileJobs jobs_;
    TransferTally tally_;
    InputPreparation preparation_;
    InputStreams inputs_;
    OutputTaking outputs_;
    Leases leases_;
    std::map<WorkerId, std::set<LeaseKey>> of_worker_;
};

}  // namespace wq::transfers
