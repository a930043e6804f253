// The tasks of a worker that run in their own sandbox: because they have files and this worker does not see
// the manager's files, or because the manager has no folder for its tasks. WorkerFiles makes the sandboxes;
// this class decides which tasks get one, and what happens to them when they are recalled, killed or lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/time.h"
#include "net/messages/messages.h"
#include "node/launcher/launcher.h"
#include "worker/manager_link.h"
#include "worker/worker_files.h"

namespace wq::worker {

// A message about files.
template <class M>
concept FileMessage = requires(WorkerFiles& files, M message) {
    files.on(std::move(message));
};

class StagedTasks {
  public:
    using Key = WorkerFiles::Key;
    // What handle_events() asks of the owner.
    struct Requests {
        std::function<void(const net::messages::Lease&, const std::string& sandbox)> begin;
        std::function<void(WorkerFiles::Make&)> make;  // create an input
        std::function<void(std::string why)> leave;    // this worker cannot prepare files
    };

    // `background`: null: it accepts no tasks with files. `kept_cache`: as in WorkerOptions.
    StagedTasks(HeldTasks& held, ManagerLink& link, const node::launcher::Launcher& launcher,
                Background* background, std::string kept_cache, Requests requests)
        : held_(held),
          link_(link),
          launcher_(launcher),
          background_(background),
          kept_cache_(std::move(kept_cache)),
          requests_(std::move(requests)) {}

    // Finds out whether we see the manager's files, and tells the manager if so.
    void welcome(const net::messages::Welcome& message);
    // There is a new link to the same manager: restarts the transfers that were under way.
    void begin_streams_anew();

    bool must_stage(const net::messages::Lease& lease) const;
    void stage(const net::messages::Lease& lease);
    template <FileMessage M>
    void on(M& message) {
        if (files_) files_->on(std::move(message));
    }
    // Begins staged tasks, and answers those that have ended.
    void handle_events();
    // The worker leaves: staged tasks are returned, not begun.
    void take_no_more() { takes_no_more_ = true; }

    // The task, or the command that creates its input, has ended. False: the owner must answer the end.
    bool handle_end(node::launcher::TaskEnded& end);
    void give_back(Key key);                   // it has not started
    std::uint64_t recall(std::uint64_t most);  // returns tasks not started, the last first, and how many
    void kill(const std::function<bool(Key)>& which);
    // With the launcher, whose folder had their sandboxes. `lost`: called for each task that may still run.
    void lose(const std::string& why, const std::function<void(Key)>& lost);
    void forget() { files_.reset(); }

    // Sends what running tasks have appended to watched outputs, once a second.
    void send_watched(Instant now);
    std::optional<Instant> wakeup() const { return files_ ? files_->wakeup() : std::nullopt; }

  private:
    void on_event(const WorkerFiles::Staged& staged);
    void on_event(WorkerFiles::Make& input);
    void on_event(node::launcher::TaskEnded& ended) { held_.answer_end(ended); }
    void on_event(const WorkerFiles::Unable& unable);

    HeldTasks& held_;
    ManagerLink& link_;
    const node::launcher::Launcher& launcher_;
    Background* background_;
    std::string kept_cache_;
    Requests requests_;
    std::optional<WorkerFiles> files_;
    bool takes_no_more_ = false;
    bool sees_files_ = false;   // of the manager
    bool own_folders_ = false;  // the manager has no folder for its tasks: each gets its own
    int folders_gone_ = 0;
};

}  // namespace wq::worker
