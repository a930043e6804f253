// What a lease says of its task's inputs is found out before it leaves: kinds, keys of cached contents, and
// small contents themselves. One input after the other, a few megabytes a job.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "files/key_memo.h"
#include "files/problem.h"
#include "files/task_files.h"
#include "transfers/file_jobs.h"
#include "wire/messages.h"

namespace wq::transfers {

class InputPreparation {
  public:
    // For the lease, or why the task cannot have its files.
    using Prepared = std::variant<wire::LeaseFiles, files::Problem>;
    using Then = std::function<void(const Prepared&)>;
    class Lease;  // in preparation

    explicit InputPreparation(FileJobs& jobs) : jobs_(jobs) {}

    // `then` is called later, unless the lease was dropped before.
    std::shared_ptr<Lease> prepare(std::shared_ptr<const files::TaskFiles> files, Then then);
    static void drop(Lease& lease);

  private:
    // Of the background's thread: a key is made once for all that need it at the time.
    struct Keys {
        files::KeyMemo memo;
        std::set<std::string> in_work;
    };
    void go_on(const std::shared_ptr<Lease>& lease);
    void go_on_with_parked();

    FileJobs& jobs_;
    std::shared_ptr<Keys> keys_ = std::make_shared<Keys>();
    std::vector<std::shared_ptr<Lease>> parked_;  // another makes a key that they need, too
};

}  // namespace wq::transfers
