// Processes that lost their parent and came to the launcher (it is a subreaper). An orphan of a running task
// is let be; one whose task has ended is killed, with all below it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "process/process_tree.h"
#include "watch/running_tasks.h"

namespace wq::watch {

class Leftovers {
  public:
    // `with_shell`: daemons that a `#!` line started belong to the worker's shell and stay until the end.
    Leftovers(const RunningTasks& running, bool with_shell);

    // Children of the launcher's own that are neither tasks nor orphans.
    void add_own(pid_t pid) { own_.insert(pid); }

    // A child that is no task's main process was reaped.
    void reaped(pid_t pid);

    bool cheap() const { return children_.cheap(); }  // to list orphans

    // The worker's shell is no more: kills what it had started.
    void shell_gone();

    // Looks at all children and kills the orphans whose task no longer runs. True when any was killed.
    bool sweep();
    // The same after tasks have ended, where that is cheap; else at most so often that it takes 2 % of the
    // time.
    bool sweep_if_cheap(Instant now);
    // A sweep was put off.
    bool owed() const { return owed_; }
    Instant owed_at() const { return not_before_; }

    // Orphans of a task; the same, each with what is below it.
    std::vector<pid_t> orphans_of(const RunningTask& task) const;
    std::vector<pid_t> of(const RunningTask& task) const;
    // An orphan lives of which it is not known whose it is.
    bool any_unknown() const { return unknown_ > 0; }

  private:
    struct Orphan {
        enum class Of : std::uint8_t { task, ended_task, shell, unknown } of = Of::unknown;
        std::uint64_t serial =
            0;  // of its task or shell; for an unknown one of the newest task when first seen
    };
    Orphan classify(pid_t pid) const;
    bool doomed(const Orphan& orphan) const;

    const RunningTasks& running_;
    bool with_shell_;
    pid_t session_;
    pid_t group_;
    process::OwnChildren children_;
    std::set<pid_t> own_;
    std::unordered_map<pid_t, Orphan> orphans_;
    std::size_t unknown_ = 0;
    std::uint64_t shells_gone_ = 0;
    bool owed_ = false;
    Instant not_before_{};
};

}  // namespace wq::watch
