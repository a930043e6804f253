// Runs a worker's remote tasks on its coprocesses. A separate thread talks to them, so the worker's loop
// never waits. Its interface is that of node/launcher/function_runner.h.
//
// Only one thread may use it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "functions/coprocess/coprocess.h"

namespace wq::functions::coprocess {

// The coprocesses of a worker: starts them, gives each call to an idle one, and starts those that ended anew.
// It never waits for a coprocess. The runner gives it a thread.
//
// A coprocess that ends with a call, or is ended with it, is started anew at once. One that ends without
// having taken a call has failed by itself: the next start waits for a back-off, and after 10 such failures
// in a row it is not started again. When none is left, the pool gives up.
struct PoolOptions {
    std::string file;  // absolute path
    std::int64_t count = 1;
    engine::model::Resources total;            // each gets an equal share
    std::string folder;                        // where the coprocesses' own folders are made
    std::string gpu_variable;                  // "CUDA_VISIBLE_DEVICES"; empty: no GPUs
    std::vector<std::string> gpus;             // their names for it
    std::function<Status(int socket)> fork{};  // see CoprocessOptions
    Duration first_back_off = std::chrono::milliseconds(100);
    int most_failures = 10;
    Duration greeting_limit = std::chrono::seconds(60);
    Duration kill_limit = std::chrono::seconds(5);
};

// The environment of coprocess `index`: that of a task, with what the share says (CORES, OMP_NUM_THREADS,
// ...). The coprocess adds its own folder.
std::vector<std::string> environment_of(const PoolOptions& options, std::int64_t index, char* const* ours);

class CoprocessPool {
  public:
    // Throws std::runtime_error: no process can be made.
    explicit CoprocessPool(PoolOptions options);
    ~CoprocessPool();  // ends all coprocesses at once
    CoprocessPool(const CoprocessPool&) = delete;

    // Starts those that are due.
    void start(Instant now);

    // Of the coprocesses; empty until the first has named itself.
    const std::string& name() const { return name_; }
    // Why it has given up, one line.
    const std::optional<std::string>& given_up() const { return given_up_; }
    // Whether each coprocess has failed by itself, and if so, why the last one has.
    std::optional<std::string> all_failed() const;
    // Failures of coprocesses since the last call, one line each.
    std::vector<std::string> take_news() { return std::exchange(news_, {}); }

    bool has_idle() const;
    void run(RemoteOrder order, Instant now);  // has_idle()
    // Ends the running call, as Ending::killed. False: it runs no such call.
    bool kill(TaskId task, Attempt attempt, Instant now);
    void kill_all(Instant now);
    void drop_all(Instant now);  // likewise, without reports

    void append_descriptors(std::vector<pollfd>& to) const;
    // `polled`: what append_descriptors() appended, after poll().
    void run_turn(const pollfd* polled, Instant now);
    std::optional<Instant> wakeup() const;
    std::vector<node::launcher::TaskEnded> take_ended();

  private:
    struct Member {
        std::unique_ptr<Coprocess> process;
        Instant started;
        std::optional<Instant> start_at;  // it is down
        int failures = 0;                 // in a row
        bool given_up = false;
    };

    void check_member(Member& member, Instant now);
    void note_end(Member& member, Instant now);

    PoolOptions options_;
    std::vector<Member> members_;
    std::string name_;
    std::vector<std::string> news_;
    std::string last_failure_;
    std::optional<std::string> given_up_;
    std::vector<node::launcher::TaskEnded> ended_;
};

using RemoteReport = std::variant<node::launcher::TaskEnded, node::launcher::OrderReturned>;

class Runner {
  public:
    // Starts the coprocesses, and waits until the first has named itself, or `interrupt` (a descriptor; -1:
    // none) is readable. Error: why it cannot be started.
    static Result<std::unique_ptr<Runner>> start(const PoolOptions& options, int interrupt = -1);
    ~Runner();  // ends the coprocesses, with all that they have started
    Runner(const Runner&) = delete;

    const std::string& name() const { return name_; }
    std::int64_t count() const { return count_; }

    // Readable when next() has something to report. It never changes; poll it, do not read it.
    int descriptor() const { return bell_.descriptor(); }

    void run(RemoteOrder order);
    // Returns up to `most` tasks that have not begun, the last first, and says how many.
    std::uint64_t recall(std::uint64_t most);
    void kill(TaskId task, Attempt attempt);
    void kill_all();
    void forget();  // drops all without reports

    std::vector<RemoteReport> next();

    // Why it runs no more tasks, in one line; nullopt: it does. It has returned the tasks that it had not
    // begun.
    std::optional<std::string> given_up() const;
    // Failures of single coprocesses since the last call, one line each.
    std::vector<std::string> take_news();

  private:
    using Key = std::pair<TaskId, Attempt>;

    explicit Runner(const PoolOptions& options);
    Status wait_for_name(int interrupt);
    void work();
    void carry_out_orders(Instant now);
    void give_reports();
    void wake();

    CoprocessPool pool_;  // of the thread
    std::string name_;
    std::int64_t count_;
    Wake bell_;   // for the loop
    Wake alarm_;  // for the thread

    mutable std::mutex mutex_;  // of what follows
    std::deque<RemoteOrder> waiting_;
    std::vector<Key> to_kill_;
    bool kill_all_ = false;
    bool drop_all_ = false;  // likewise, without reports
    bool over_ = false;
    std::vector<RemoteReport> reports_;
    std::vector<std::string> news_;
    std::optional<std::string> given_up_;
    std::thread thread_;
};

}  // namespace wq::functions::coprocess
