// The worker's end of the files of tasks: each gets a sandbox of its own, with its inputs in it, before it
// starts; when it has ended, its outputs are sent, and the sandbox is removed. Cached inputs stay for other
// tasks, until the folder goes.
//
// Files are touched in the background only; events are for the thread of the loop.
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
#include "files/cache.h"
#include "files/tree_reader.h"
#include "launcher/launcher.h"
#include "wire/messages.h"

namespace wq::worker {

class WorkerFiles {
  public:
    using Key = std::pair<TaskId, Attempt>;
    using Say = std::function<void(const wire::Message&)>;

    // Sandboxes and the cache are below `folder`, but where that is to outlive us, in `kept_cache`. `say`: to
    // the manager, while there is a link to it.
    WorkerFiles(Background& background, std::string folder, Say say, std::string kept_cache = {});
    ~WorkerFiles();

    void stage(wire::Lease lease);
    // Where a task is that is held here; `running`, and `making` an input: with the launcher.
    enum class Place { nowhere, staging, making, running, delivering };
    Place place_of(const Key& key) const;
    std::vector<Key> all_last_first() const;
    // What was to make its next input has ended.
    void made(launcher::TaskEnded end);
    // It has ended: its outputs leave.
    void deliver(launcher::TaskEnded end);
    // What makes an input of it was told to end: where it had ended already, nothing of it runs.
    void kill(const Key& key);
    // It is not to run any more, or what came of it is nobody's.
    void drop(const Key& key);

    // There is a new link to the same manager: what was on its way comes, and goes, anew.
    void begin_streams_anew();
    void on(wire::InputPart message);
    void on(const wire::NoInput& message);
    void on(const wire::InputIsAt& message);
    void on(const wire::TakeOutput& message);
    void on(const wire::OutputsKept& message);
    void on(const wire::WatchedTaken& message);

    // Sends what tasks that run have appended to watched outputs; once a second.
    void look(Instant now);
    std::optional<Instant> wakeup() const;

    struct Staged {
        wire::Lease lease;
        std::string sandbox;
    };
    // An input of it is to be made first: run `from`, a shell line or a URL, so that it is in `path`; then
    // made().
    struct Make {
        wire::Lease lease;
        wire::InputKind kind = wire::InputKind::command;
        std::string from;
        std::string path;
        std::string folder;
    };
    // It could not be staged, for no fault of the task's: it is to be run elsewhere.
    struct Unable {
        Key key;
        std::string why;
        bool folder_gone = false;  // with the launcher, of which is heard later
    };
    // What can begin; what has ended, with its outputs home, or because it could not be staged.
    using Event = std::variant<Staged, Make, launcher::TaskEnded, Unable>;
    std::vector<Event> next();

  private:
    struct Task;
    struct Store;  // of the background's thread
    using TaskPointer = std::shared_ptr<Task>;

    TaskPointer find(TaskId task, Attempt attempt) const;
    void go_on(const TaskPointer& task);
    void bring(const TaskPointer& task);
    void brought(const TaskPointer& task);
    void make(const TaskPointer& task);
    void take_made(const TaskPointer& task);
    void fail_with(const TaskPointer& maker, const launcher::TaskEnded& end);
    void fetch(const TaskPointer& task, bool missed = false);
    void want(const Task& task, bool missed = false);
    void copy(const TaskPointer& task);
    void came(const TaskPointer& task);
    void unable(const TaskPointer& task, const std::string& why, bool folder_gone);
    void fail(const TaskPointer& task, const files::Problem& problem, int exit_code = -1);
    void fail(const TaskPointer& task, launcher::TaskEnded end);
    void send_more(const TaskPointer& task);
    void look_at(const TaskPointer& task);
    void lost(const TaskPointer& task);
    void delivered(const TaskPointer& task);
    void forget(const TaskPointer& task);
    void remove_some();
    void in_background(Background::Job job);

    bool removes_ = false;         // what tasks have left
    bool more_to_remove_ = false;  // that came meanwhile
    Background& background_;
    Say say_;
    std::shared_ptr<Store> store_;
    std::map<Key, TaskPointer> tasks_;
    std::map<std::string, TaskPointer> bringing_;  // by key: for whom it comes, or is made
    std::vector<TaskPointer> waiting_;             // for what comes for another one
    std::uint64_t next_number_ = 0;                // of those that are staged
    std::size_t watched_ = 0;                      // tasks with outputs that are
    Instant next_look_;
    std::deque<Event> events_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace wq::worker
