// Sends leases to workers. If a task has files, its lease waits until the message about them is prepared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/background.h"
#include "files/transfers/file_transfers.h"
#include "manager/links.h"
#include "manager/router.h"
#include "manager/run_records.h"
#include "manager/task_table.h"

namespace wq::manager {

class LeaseSender {
  public:
    // `background`: for files; null: no task has files.
    LeaseSender(TaskTexts& tasks, Links& links, RunRecords& records, Router& router, Background* background);

    void send(engine::model::Lease& action, engine::model::Now now);
    // The worker sees our files, so its leases need none.
    void send_without_files(Link& link, engine::model::Now now);

    void on_background(engine::model::Now now);  // its descriptor is readable

    // The attempt, the tasks, or all leases of the worker are over: drops what was prepared for them.
    void forget(TaskId task, Attempt attempt);
    void forget(Interval tasks);
    void forget(WorkerId worker);

    files::transfers::FileTransfers* transfers() {
        return transfers_ ? &*transfers_ : nullptr;
    }  // null: no task has files
    const files::transfers::FileTransfers* transfers() const { return transfers_ ? &*transfers_ : nullptr; }

  private:
    using SharedMemory = std::shared_ptr<const MemoryFile>;
    struct Held {
        WorkerId worker;
        net::messages::Lease lease;
        engine::model::Lease action;
        SharedMemory memory;
    };
    void prepare(const Link& link, engine::model::Lease& action, net::messages::Lease lease, TaskText& text);
    void prepared(TaskId task, const files::transfers::FileTransfers::Prepared& result);
    void send(Link& link, const engine::model::Lease& action, net::messages::Lease lease,
              const SharedMemory& memory, engine::model::Now now);
    void fail(WorkerId worker, TaskId task, Attempt attempt, std::string reason, engine::model::Now now);

    TaskTexts& tasks_;
    Links& links_;
    RunRecords& records_;
    Router& router_;
    Background* background_;
    std::optional<files::transfers::FileTransfers> transfers_;
    engine::model::Now background_now_;  // passed by on_background()
    std::map<TaskId, Held> held_;        // leases waiting until their files are known
};

}  // namespace wq::manager
