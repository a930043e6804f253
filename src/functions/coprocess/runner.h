// Runs a worker's remote tasks on its coprocesses. A separate thread talks to them, so the worker's loop
// never waits. Its interface is that of node/launcher/function_runner.h.
//
// Only one thread may use it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/wake.h"
#include "functions/coprocess/pool.h"

namespace wq::functions::coprocess {

using RemoteReport = std::variant<node::launcher::TaskEnded, node::launcher::OrderReturned>;

class Runner {
  public:
    // Starts the coprocesses, and waits until the first has named itself, or `interrupt` (a descriptor; -1:
    // none) is readable. Error: why it cannot be started.
    static Result<std::unique_ptr<Runner>> start(PoolOptions options, int interrupt = -1);
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

    explicit Runner(PoolOptions options);
    Status wait_for_name(int interrupt);
    void work();
    void take_orders(Instant now);
    void give_reports();
    void wake();

    Pool pool_;  // of the thread
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
