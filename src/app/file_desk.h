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
#include "app/node_contents.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "files/content_reader.h"
#include "files/key_memo.h"
#include "files/tree_writer.h"
#include "wire/messages.h"

namespace wq::app {

class FileDesk {
  public:
    using Tell = std::function<void(WorkerId, const wire::Message&)>;
    // A file that has come whole: an input to a worker, an output here.
    struct Transfer {
        TaskId task;
        bool input = true;
        bool cached = false;
        std::string name;  // in the sandbox
        std::uint64_t bytes = 0;
        Duration took{0};  // nothing: it went with its lease
    };
    using Tally = std::function<void(const Transfer&)>;
    // For the lease, or why the task cannot have its files.
    using Prepared = std::variant<wire::LeaseFiles, files::Problem>;

    // `background` ends before the desk does, or with it.
    FileDesk(
        Background& background, Tell tell, Tally tally = [](const Transfer&) {});
    ~FileDesk();

    // `then` is called later, unless the lease was dropped before.
    void prepare(WorkerId worker, TaskId task, Attempt attempt, std::shared_ptr<const files::TaskFiles> files,
                 std::function<void(const Prepared&)> then);

    // `node`: equal for workers that may see each other's files; empty: it shares with none.
    void joined(WorkerId worker, std::string node) { contents_.joined(worker, std::move(node)); }

    // What workers say. Of leases that they do not hold nothing comes of it.
    void on(WorkerId worker, const wire::WantInput& message);
    void on(WorkerId worker, const wire::HaveInput& message);
    bool on(WorkerId worker, wire::OutputPart& message);   // false: it was not to send so much
    bool on(WorkerId worker, wire::WatchedPart& message);  // the same
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
        // Of files that came whole, each by itself: together this long.
        std::int64_t bytes_of_transfers = 0;
        Duration time_of_transfers{0};
        double bandwidth() const;  // of them on average, in MB (of 2^20 bytes) per second; 0: there was none
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
    bool is_elsewhere(WorkerId worker, const Lease& lease, const wire::WantInput& message);
    void ask_again(const NodeContents::Wishes& wishes);
    void send_more(const std::shared_ptr<Sending>& sending);
    void count(Transfer transfer);
    NodeContents::Wishes end_streams(Lease& lease);
    Leases::iterator end(Leases::iterator lease);
    void in_background(Background::Job job);

    Background& background_;
    Tell tell_;
    Tally tally_;
    Leases leases_;
    NodeContents contents_;
    std::map<WorkerId, std::set<Key>> of_worker_;
    std::vector<std::shared_ptr<Preparation>> parked_;  // another makes a key that they need, too
    std::shared_ptr<Keys> keys_;                        // of the background's thread
    Traffic traffic_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace wq::app
