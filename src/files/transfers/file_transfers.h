// The manager's side of task files. The manager inspects the inputs before it sends a lease. Workers then
// request the inputs that they lack, and send the outputs.
//
// Only the background thread touches files.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/background.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "files/transfers/input_streams.h"
#include "files/transfers/output_taking.h"
#include "files/transfers/transfer_tally.h"
#include "files/trees/fingerprint.h"
#include "files/trees/problem.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

// Prepares the inputs of a lease before it is sent: their kinds, keys of cached contents, and small contents.
// Inputs are prepared one after the other, a few megabytes per job.
class InputPreparation {
  public:
    // The lease's part about files, or why the task cannot have its files.
    using Prepared = std::variant<net::messages::LeaseFiles, trees::Problem>;
    using Then = std::function<void(const Prepared&)>;
    class Lease;  // being prepared

    explicit InputPreparation(FileJobs& jobs) : jobs_(jobs) {}

    // Calls `then` later, unless the lease is dropped first.
    std::shared_ptr<Lease> prepare(std::shared_ptr<const trees::TaskFiles> files, Then then);
    static void drop(Lease& lease);

  private:
    // Used by the background thread: a key is computed once for all leases that need it at the time.
    struct Keys {
        trees::KeyMemo memo;
        std::set<std::string> in_work;
    };
    void go_on(const std::shared_ptr<Lease>& lease);
    void go_on_with_parked();

    FileJobs& jobs_;
    std::shared_ptr<Keys> keys_ = std::make_shared<Keys>();
    std::vector<std::shared_ptr<Lease>> parked_;  // wait for keys that others compute
};

class FileTransfers {
  public:
    using Prepared = InputPreparation::Prepared;

    // `background` must not outlive this object. `each` is called for every transfer.
    FileTransfers(
        Background& background, const SendToWorker& send,
        std::function<void(const Transfer&)> each = [](const Transfer&) {});

    // Calls `then` later, unless the lease is dropped first.
    void prepare(WorkerId worker, TaskId task, Attempt attempt, std::shared_ptr<const trees::TaskFiles> files,
                 std::function<void(const Prepared&)> then);

    // `node`: equal for workers that may see each other's files; empty: the worker shares with none.
    void joined(WorkerId worker, std::string node) { inputs_.joined(worker, std::move(node)); }

    // Messages of workers. Messages about leases that the worker does not hold are ignored. False: the worker
    // sent more than it may.
    void on(WorkerId worker, const net::messages::WantInput& message) { inputs_.on(worker, message); }
    void on(WorkerId worker, const net::messages::HaveInput& message) { inputs_.on(worker, message); }
    // Before a part comes: the task may have no files. See OutputTaking.
    void expect_streams(WorkerId worker, TaskId task, Attempt attempt, std::uint64_t limit);
    std::array<Descriptor, 2> take_streams(WorkerId worker, TaskId task, Attempt attempt) {
        return outputs_.take_streams(worker, {task, attempt});
    }
    bool on(WorkerId worker, net::messages::OutputPart& message) { return outputs_.on(worker, message); }
    bool on(WorkerId worker, net::messages::WatchedPart& message) { return outputs_.on(worker, message); }
    void on(WorkerId worker, const net::messages::OutputsSent& message) { outputs_.on(worker, message); }

    void drop(TaskId task, Attempt attempt);                         // the lease is over
    void drop_if_of(WorkerId worker, TaskId task, Attempt attempt);  // same, if this worker has it
    void drop(Interval tasks);                                       // the tasks are cancelled
    std::vector<LeaseKey> drop(WorkerId worker);                     // all its leases are over; returns them
    void cut(WorkerId worker);  // the worker is disconnected: unfinished transfers are repeated

    const TransferTally& tally() const { return tally_; }

  private:
    struct Lease {
        WorkerId worker;
        std::shared_ptr<InputPreparation::Lease> preparation;
    };
    using Leases = std::map<LeaseKey, Lease>;
    void prepared(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files,
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

}  // namespace wq::files::transfers
