// The worker's side of task files. Before a task starts, it gets its own sandbox with its inputs. After it
// ends, its outputs are sent and the sandbox is removed. Cached inputs stay for other tasks until the folder
// is removed.
//
// Only background jobs touch files; events are for the thread of the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/background.h"
#include "base/ids.h"
#include "base/time.h"
#include "files/trees/cache.h"
#include "files/trees/tree_reader.h"
#include "net/messages/messages.h"
#include "node/launcher/launcher.h"

namespace wq::worker {

class WorkerFiles {
  public:
    using Key = std::pair<TaskId, Attempt>;
    using Send = std::function<void(const net::messages::Message&)>;

    // Sandboxes and the cache are below `folder`; a cache that must outlive us is in `kept_cache`. `send`:
    // sends to the manager, while there is a link to it.
    WorkerFiles(Background& background, std::string folder, Send send, std::string kept_cache = {});
    ~WorkerFiles();

    void stage(net::messages::Lease lease);
    // Where a task is. `running`, and `making` an input: with the launcher.
    enum class Phase { nowhere, staging, making, running, delivering };
    Phase phase_of(const Key& key) const;
    std::vector<Key> all_last_first() const;
    // When its files were there, so far; drop() forgets it.
    engine::model::FileTimes times_of(const Key& key) const;
    // The command or fetch that makes its next input has ended.
    void made(node::launcher::TaskEnded end);
    // The task has ended: send its outputs.
    void deliver(node::launcher::TaskEnded end);
    // The command that makes its input was told to end. If that had ended already, nothing more of the task
    // runs.
    void kill(const Key& key);
    // The task must not run any more, or nobody needs its results.
    void drop(const Key& key);

    // There is a new link to the same manager: restarts the transfers that were under way.
    void begin_streams_anew();
    void on(net::messages::InputPart message);
    void on(const net::messages::NoInput& message);
    void on(const net::messages::InputIsAt& message);
    void on(const net::messages::TakeOutput& message);
    void on(const net::messages::OutputsKept& message);
    void on(const net::messages::WatchedTaken& message);

    // Sends what running tasks have appended to watched outputs, once a second.
    void send_watched(Instant now);
    std::optional<Instant> wakeup() const;

    struct Staged {
        net::messages::Lease lease;
        std::string sandbox;
    };
    // One of its inputs must be created first: run `from`, a shell line or a URL, to create `path`; then call
    // made().
    struct Make {
        net::messages::Lease lease;
        net::messages::InputKind kind = net::messages::InputKind::command;
        std::string from;
        std::string path;
        std::string folder;
    };
    // It could not be staged, by no fault of the task: it must run elsewhere.
    struct Unable {
        Key key;
        std::string why;
        bool folder_gone = false;  // with its launcher, whose death is reported later
    };
    // A task that can begin, or one that has ended: its outputs have arrived, or it could not be staged.
    using Event = std::variant<Staged, Make, node::launcher::TaskEnded, Unable>;
    std::vector<Event> next();

  private:
    class Task;      // the loop's half of a task
    struct Sandbox;  // the background's half
    struct Store;    // used by the background thread
    using TaskPointer = std::shared_ptr<Task>;

    TaskPointer find(TaskId task, Attempt attempt) const;
    void go_on(const TaskPointer& task);
    void bring(const TaskPointer& task);
    void brought(const TaskPointer& task);
    void make(const TaskPointer& task);
    void take_made(const TaskPointer& task);
    void fail_with(const TaskPointer& maker, const node::launcher::TaskEnded& end);
    enum class Neighbour : std::uint8_t { may_have_it, lacks_it };  // where InputIsAt said
    void fetch(const TaskPointer& task, Neighbour neighbour = Neighbour::may_have_it);
    void want(const Task& task, Neighbour neighbour = Neighbour::may_have_it);
    void copy(const TaskPointer& task);
    void came(const TaskPointer& task);
    enum class Folder : std::uint8_t { there, gone };
    void unable(const TaskPointer& task, const std::string& why, Folder folder);
    void fail(const TaskPointer& task, const files::trees::Problem& problem, int exit_code = -1);
    void fail(const TaskPointer& task, node::launcher::TaskEnded end);
    void send_more(const TaskPointer& task);
    void look_at(const TaskPointer& task);
    void lost(const TaskPointer& task);
    void delivered(const TaskPointer& task);
    void forget(const TaskPointer& task);
    void remove_some();

    void in_background(std::function<Background::Then(Store&)> job);
    // `job` is called with the task's Sandbox and the Store. `then` is called with what `job` has returned,
    // on the loop's thread, unless the task is dropped.
    template <class Job>
    void in_background(const TaskPointer& task, Job job);
    template <class Job, class Then>
    void in_background(const TaskPointer& task, Job job, Then then);

    bool removes_ = false;         // a job is removing what tasks left
    bool more_to_remove_ = false;  // more was left meanwhile
    Background& background_;
    Send send_;
    std::shared_ptr<Store> store_;
    std::map<Key, TaskPointer> tasks_;
    std::map<std::string, TaskPointer> bringing_;  // by key: the task for which it is fetched or created
    std::vector<TaskPointer> waiting_;             // for inputs that are fetched for another task
    std::uint64_t next_number_ = 0;                // of the next staged task
    std::size_t watched_ = 0;                      // tasks with watched outputs
    Instant next_look_;
    std::deque<Event> events_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace wq::worker
