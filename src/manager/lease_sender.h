// Sends leases to workers. If a task has files, its lease waits until the message about them is prepared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "manager/links.h"
#include "manager/router.h"
#include "manager/run_records.h"
#include "manager/task_texts.h"
#include "base/background.h"
#include "files/transfers/file_transfers.h"

namespace wq::manager {

class LeaseSender {
  public:
    // `background`: for files; null: no task has files.
    LeaseSender(TaskTexts& tasks, Links& links, RunRecords& records, Router& router, Background* background);

    void send(core::Lease& action, core::Now now);
    // The worker sees our files, so its leases need none.
    void send_without_files(Link& link, core::Now now);

    void on_background(core::Now now);  // its descriptor is readable

    // The attempt, the tasks, or all leases of the worker are over: drops what was prepared for them.
    void forget(TaskId task, Attempt attempt);
    void forget(Interval tasks);
    void forget(WorkerId worker);

    transfers::FileTransfers* transfers() {
        return transfers_ ? &*transfers_ : nullptr;
    }  // null: no task has files
    const transfers::FileTransfers* transfers() const { return transfers_ ? &*transfers_ : nullptr; }

  private:
    using SharedMemory = std::shared_ptr<const MemoryFile>;
    struct Held {
        WorkerId worker;
        wire::Lease lease;
        core::Lease action;
        SharedMemory memory;
    };
    void prepare(const Link& link, core::Lease& action, wire::Lease lease, TaskText& text);
    void prepared(TaskId task, const transfers::FileTransfers::Prepared& result);
    void send(Link& link, const core::Lease& action, wire::Lease lease, const SharedMemory& memory,
              core::Now now);
    void fail(WorkerId worker, TaskId task, Attempt attempt, std::string reason, core::Now now);

    TaskTexts& tasks_;
    Links& links_;
    RunRecords& records_;
    Router& router_;
    Background* background_;
    std::optional<transfers::FileTransfers> transfers_;
    core::Now background_now_;     // passed by on_background()
    std::map<TaskId, Held> held_;  // leases waiting until their files are known
};

}  // namespace wq::manager
