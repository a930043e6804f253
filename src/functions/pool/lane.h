// The program's side of one worker: the jobs it was given, in order, and the process that does them, or the
// next one after that has died. A worker gives one result for each job, in order, so the program knows which
// jobs a dead one had finished, begun and not begun.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "functions/pool/channel.h"
#include "functions/pool/page.h"
#include "functions/pool/result_queue.h"
#include "functions/pool/zygote.h"

namespace wq::functions::pool {

struct Job {
    JobHead head;
    Nanos created = 0;
    std::string payload;
    Blocks blocks;
    bool held = false;  // the program is a user of the blocks, for another attempt
};

struct LaneOptions {
    int worker = 0;
    std::uint64_t seed = 0;
    std::size_t queue = 0;  // jobs that wait, and results
    std::size_t memory_to_keep = 0;
    std::uint32_t retries = 0;
    bool restarts = true;
};

// What the lanes of an executor share.
struct LaneLinks {
    int control = -1;   // of the zygote
    int doorbell = -1;  // wakes the collector
    FunctionPlace function;
    std::atomic<std::uint64_t> lives{0};  // processes asked for
};

class JobLane {
  public:
    enum class State : std::uint8_t { starting, up, gone };

    JobLane(LaneOptions options, LaneLinks& links) : options_(options), links_(links) {}
    ~JobLane();
    JobLane(const JobLane&) = delete;
    JobLane& operator=(const JobLane&) = delete;

    // By any thread.
    bool has_room() const;
    // `batch`, of which the job was made, is empty then. no_room, also if too many descriptors wait, or an
    // error, no memory: both are unchanged, also if it throws std::bad_alloc.
    Result<Sent> give(Job& job, Batch& batch);
    void set_session(std::uint64_t session);
    std::string describe() const;

    // By the collector.
    void begin();  // asks for a process
    // If none could be had for one that died: when to ask again, and that.
    std::optional<Instant> begins_at() const;
    void begin_if_due(Instant now);
    bool has_result() const;
    void set_taker_waits(bool waits);
    // The next result of a job of this session, or of another one, to drop. nullopt: none is there.
    std::optional<FinishedJob> next_result();
    void on(const ZygoteReport& report);
    void lose_process();                     // the zygote was killed, and its workers with it
    void lose(const std::string& why);       // nobody can start processes any more
    void set_collector_sleeps(bool sleeps);  // see page.h
    bool must_be_moved() const;              // its worker would not ring for what is there
    void stop();                             // after the current job
    void kill();
    State state();                     // by any thread
    std::string describe_end() const;  // how its last process ended

  private:
    bool has_room_locked() const;
    void begin_locked();
    Status ask_for_process();
    Status resend();
    void try_later(const std::string& why);
    bool has_begun_job() const;
    enum class Ran : std::uint8_t { perhaps, never };
    void died(const std::string& why, Ran ran);
    std::optional<FinishedJob> read_result();
    void drain();
    FinishedJob failed(Job& job, std::string why);
    void fail_all(const std::string& why);
    void break_off();
    void ask_for_kill() const;
    static void let_go(Job& job);
    static void abandon(Job& job);

    const LaneOptions options_;
    LaneLinks& links_;

    mutable std::mutex mutex_;
    State state_ = State::starting;
    std::unique_ptr<PageMemory> memory_;
    std::optional<RingWriter> jobs_;
    std::optional<RingReader> results_;
    Descriptor socket_;
    std::deque<Job> unfinished_;    // as the process has them, or will have
    std::deque<FinishedJob> kept_;  // results of dead processes, and failures
    std::uint64_t session_ = 0;
    std::uint64_t life_ = 0;
    pid_t pid_ = 0;         // 0: not known
    bool process_ = false;  // one is asked for, and has not ended
    bool stopping_ = false;
    bool taker_waits_ = false;
    bool broken_ = false;  // it has damaged its rings: nothing is read from them
    int useless_ = 0;      // processes in a row that died before a job
    bool was_up_ = false;
    std::optional<Instant> short_since_;  // no process can be had
    Duration pause_{};
    std::optional<Instant> begin_at_;
    std::uint64_t done_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t deaths_ = 0;
    std::string why_;  // of the last death
};

using JobLanes = std::vector<std::unique_ptr<JobLane>>;

bool all_are_gone(const JobLanes& lanes);

}  // namespace wq::functions::pool
