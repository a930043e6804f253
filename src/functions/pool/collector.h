// The thread that moves results from the workers to the program, and hears how workers end.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "base/descriptor.h"
#include "base/time.h"
#include "functions/pool/executor_state.h"
#include "functions/pool/lane.h"
#include "functions/pool/result_queue.h"

namespace wq::functions::pool {

class Collector {
  public:
    // `control`: of the zygote. All outlive it. Throws SetupError: no descriptor is left.
    Collector(const JobLanes& lanes, int control, ResultQueue& results, ExecutorState& state);

    // By any thread.
    int doorbell() const { return doorbell_.descriptor(); }
    void wake() const { doorbell_.set(); }
    // Moves results to the queue, as the thread does; this spares a wake-up. Returns whether any came.
    bool gather();
    // A result was taken from the queue.
    void note_taken();

    // By one thread.
    void start();
    void join();  // it ends when all is done that a close of the executor asks for

  private:
    void collect();
    bool move_results();
    bool must_move() const;
    void wait();
    std::optional<Instant> wakes_at() const;
    void handle_reports();
    void look_at_lanes();
    bool close_lanes(ExecutorState::CloseTimes times);
    void kill_lanes();

    const JobLanes& lanes_;
    const int control_;
    ResultQueue& results_;
    ExecutorState& state_;
    const Wake doorbell_;
    std::mutex gather_mutex_;  // one at a time adds to results_
    std::atomic<bool> waits_for_room_{false};
    std::thread thread_;

    // The thread's own.
    bool zygote_gone_ = false;
    bool stopped_ = false;  // the lanes
    bool killed_ = false;   // likewise
};

}  // namespace wq::functions::pool
