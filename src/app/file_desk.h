// The manager's end of the files of tasks. What a lease says of its inputs is found out before it leaves;
// then workers ask for what they do not have, and send what the task has made.
//
// Files are touched in the background only. An input is read as it is when it is sent: a cached one must then
// still have the content that its key was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/background.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "files/content_reader.h"
#include "files/key_memo.h"
#include "files/tree_writer.h"
#include "wire/messages.h"

namespace wq::app {

class FileDesk {
  public:
    using Tell = std::function<void(WorkerId, const wire::Message&)>;
    // For the lease, or why the task cannot have its files.
    using Prepared = std::variant<wire::LeaseFiles, files::Problem>;

    // `background` ends before the desk does, or with it.
    FileDesk(Background& background, Tell tell);
    ~FileDesk();

    // `then` is called later, unless the lease was dropped before.
    void prepare(WorkerId worker, TaskId task, Attempt attempt, std::shared_ptr<const files::TaskFiles> files,
                 std::function<void(const Prepared&)> then);

    // What workers say. Of leases that they do not hold nothing comes of it.
    void on(WorkerId worker, const wire::WantInput& message);
    bool on(WorkerId worker, wire::OutputPart& message);  // false: it was not to send so much
    void on(WorkerId worker, const wire::OutputsSent& message);

    void drop(TaskId task, Attempt attempt);                         // the lease is over
    void drop_if_of(WorkerId worker, TaskId task, Attempt attempt);  // the same, where this worker has it
    void drop(Interval tasks);                                       // they are cancelled
    std::vector<std::pair<TaskId, Attempt>> drop(WorkerId worker);   // all its leases are over: these
    void cut(WorkerId worker);  // its link is: what was on its way comes anew

    // Bytes of contents, since the start; with those in leases.
    struct Traffic {
        std::int64_t bytes_sent = 0;
        std::int64_t bytes_received = 0;
    };
    const Traffic& traffic() const { return traffic_; }

  private:
    struct Lease;
    struct Keys;
    struct Preparation;
    struct Sending;
    struct Taking;
    using Key = std::pair<TaskId, Attempt>;
    using Leases = std::map<Key, Lease>;

    Lease* find(WorkerId worker, TaskId task, Attempt attempt);
    void go_on_preparing(const std::shared_ptr<Preparation>& preparation);
    void prepared(const std::shared_ptr<Preparation>& preparation);
    void go_on_with_parked();
    void send_more(const std::shared_ptr<Sending>& sending);
    void end_streams(Lease& lease);
    Leases::iterator end(Leases::iterator lease);
    void in_background(Background::Job job);

    Background& background_;
    Tell tell_;
    Leases leases_;
    std::map<WorkerId, std::set<Key>> of_worker_;
    std::vector<std::shared_ptr<Preparation>> parked_;  // another makes a key that they need, too
    std::shared_ptr<Keys> keys_;                        // of the background's thread
    Traffic traffic_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace wq::app
