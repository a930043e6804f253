// This process as a rank of an MPI job. Collectives happen at start-up only: start(), the gathers, and the
// opening of transports and windows, by all ranks in the same order. After that a rank may be lost at any
// moment, and a collective that names a lost rank never returns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/launch_environment.h"

namespace wq::transport {

class MpiSession {
  public:
    // MPI_Init_thread where a launcher started us, else rank 0 of 1 without any MPI. The calling thread is
    // the one that makes all MPI calls from then on.
    static Result<std::unique_ptr<MpiSession>> start(const LaunchEnvironment& environment);

    // Where the program has started MPI, and makes MPI calls again after detach(). Otherwise like start(); a
    // lost rank is the launcher's to see, which ends the job.
    static Result<std::unique_ptr<MpiSession>> attach(const LaunchEnvironment& environment);

    // Without finish() nothing is finalized: who leaves on an error must not wait for ranks that do not
    // leave. The guard says goodbye.
    ~MpiSession() = default;
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    // Whether MPI was started by somebody else, or by a session before; and whether it is over.
    static bool started_before();
    static bool over_before();

    // Whether the calls may move to another thread of ours, never two at once.
    bool serialized() const { return serialized_; }
    bool has_mpi() const { return has_mpi_; }
    bool attached() const { return attached_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    int node_rank() const { return node_rank_; }  // among the ranks that share memory with this one
    int node_size() const { return static_cast<int>(node_mates_.size()); }
    const std::vector<int>& node_mates() const {
        return node_mates_;
    }  // their world ranks, in order of node rank

    // Collective: everyone's blob, by world rank or by node rank.
    Result<std::vector<std::string>> gather_world(std::string_view blob) const;
    Result<std::vector<std::string>> gather_node(std::string_view blob) const;

    // Collective, after a step that may fail on some ranks only: success when it went well on all, else the
    // error of the first that failed, on all. So all take the same way from there, and none waits in a
    // collective that another has passed over. Throws Failure where MPI fails even at this: the rank ends,
    // and before mpi_ready() the job with it.
    Status agree_world(const Status& mine) const;
    Status agree_node(const Status& mine) const;

    // From now on MPI_Finalize would hang or abort the others: the end is _exit (the guard says goodbye for
    // us).
    void note_lost_rank() { must_exit_ = true; }
    // The same, for what only some ranks hold and so none can give back: MPICH aborts in MPI_Finalize then.
    void note_stuck_window() { must_exit_ = true; }
    bool must_exit() const { return must_exit_; }

    // A collective that gives something back and that MPI wants before MPI_Finalize: finish() makes it, in
    // the order of these calls, which must be that of all ranks; who leaves by _exit never does.
    void before_finalize(std::function<void()> step) { before_finalize_.push_back(std::move(step)); }

    // MPI_Finalize, unless must_exit(): returns true when it went through, so that no goodbye is needed.
    // All ranks must agree to come here, and without a transport or a counter window in use. When one dies
    // meanwhile the others leave by _exit(exit_code) after `limit`.
    bool finish(int exit_code, Duration limit = std::chrono::seconds(2));

    // The same, for what MPI takes back by itself: detach() alone makes it.
    void before_detach(std::function<void()> step) { before_detach_.push_back(std::move(step)); }

    // Of one that was attached, instead of finish(): gives back what it has of MPI, and MPI goes on.
    // Collective: only where all ranks are known to have come here (MpiTransport::settle), and none
    // must_exit().
    void detach();

    // Communicators as Fortran handles, the one form that has the same type in every MPI.
    int world_handle() const { return world_handle_; }
    int node_handle() const { return node_handle_; }

  private:
    MpiSession() = default;
    Status join(const LaunchEnvironment& environment);
    Status join_world();
    Status join_node();

    bool has_mpi_ = false;
    bool attached_ = false;
    bool serialized_ = true;
    bool must_exit_ = false;
    bool finished_ = false;
    int rank_ = 0;
    int size_ = 1;
    int node_rank_ = 0;
    std::vector<int> node_mates_{0};
    int world_handle_ = 0;
    int node_handle_ = 0;
    std::vector<std::function<void()>> before_finalize_;
    std::vector<std::function<void()>> before_detach_;
};

}  // namespace wq::transport
