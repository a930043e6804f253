// The coprocesses of a worker: starts them, gives each call to an idle one, and starts those that ended anew.
// It never waits for a coprocess. runner.h gives it a thread.
//
// A coprocess that ends with a call, or is ended with it, is started anew at once. One that ends without
// having taken a call has failed by itself: the next start waits for a back-off, and after 10 such failures
// in a row it is not started again. When none is left, the pool gives up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "functions/coprocess/coprocess.h"

namespace wq::functions::coprocess {

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

class Pool {
  public:
    // Throws std::runtime_error: no process can be made.
    explicit Pool(PoolOptions options);
    ~Pool();  // ends all coprocesses at once
    Pool(const Pool&) = delete;

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
    void turn(const pollfd* polled, Instant now);
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

}  // namespace wq::functions::coprocess
