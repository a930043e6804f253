// This process as a rank of an MPI job. Collectives happen at start-up, and when all ranks begin a
// SliceQueue: start(), the gathers, and opening transports and windows, by all ranks in the same order. At
// other times a rank may be lost, and a collective that includes a lost rank never returns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "ranks/mpi/launch_environment.h"

namespace wq::ranks::mpi {

class ProcessWatch;

class MpiSession {
  public:
    // MPI_Init_thread if a launcher started us, else rank 0 of 1 without MPI. Only the calling thread makes
    // MPI calls from then on.
    static Result<std::unique_ptr<MpiSession>> start(const LaunchEnvironment& environment);

    // For a program that has started MPI, and makes MPI calls again after detach(). Otherwise like start();
    // the launcher detects a lost rank and ends the job.
    static Result<std::unique_ptr<MpiSession>> attach(const LaunchEnvironment& environment);

    // Without finish() nothing is finalized: a rank that exits on an error must not wait for ranks that do
    // not exit. The guard says goodbye.
    ~MpiSession() = default;
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    // Whether MPI was started by other code or an earlier session; and whether it is finalized.
    static bool started_before();
    static bool over_before();

    // Whether another of our threads may take over the calls, never two at once.
    bool serialized() const { return serialized_; }
    bool threads_may_call() const { return threads_may_call_; }  // at once
    bool has_mpi() const { return has_mpi_; }
    bool attached() const { return attached_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    int node_rank() const { return node_rank_; }  // among the ranks that share memory with this one
    int node_size() const { return static_cast<int>(node_mates_.size()); }
    const std::vector<int>& node_mates() const {
        return node_mates_;
    }  // world ranks on this node, in order of node rank

    // Collective: each rank's blob, by world rank or by node rank.
    Result<std::vector<std::string>> gather_world(std::string_view blob) const;
    Result<std::vector<std::string>> gather_node(std::string_view blob) const;
    // Collective: watches the other ranks of this node, by world rank.
    Status watch_node(ProcessWatch& watch) const;

    // Collective, after a step that may fail on some ranks only: success if all succeeded, else the error of
    // the first rank that failed, on all ranks. So all ranks continue the same way, and none waits in a
    // collective that another skipped. Throws Failure if MPI fails even here: the rank ends, and before
    // mpi_ready() the job with it.
    Status agree_world(const Status& mine) const;
    Status agree_node(const Status& mine) const;

    // From now on MPI_Finalize would hang or abort the others: the process must leave by _exit (the guard
    // says goodbye for it).
    void note_lost_rank() { must_exit_ = true; }
    // The same for a window that only some ranks hold, so that none can free it: MPICH would abort in
    // MPI_Finalize.
    void note_stuck_window() { must_exit_ = true; }
    bool must_exit() const { return must_exit_; }

    // A collective that frees something and must run before MPI_Finalize: finish() runs it, in the order of
    // these calls, which must be the same on all ranks. It is skipped if the process leaves by _exit.
    void before_finalize(std::function<void()> step) { before_finalize_.push_back(std::move(step)); }

    // MPI_Finalize, unless must_exit(). Returns true if it succeeded, so no goodbye is needed. All ranks must
    // agree to call it, with no transport or counter window in use. If a rank dies meanwhile, the others
    // leave by _exit(exit_code) after `limit`.
    bool finish(int exit_code, Duration limit = std::chrono::seconds(2));

    // The same for what MPI_Finalize frees itself: only detach() runs it.
    void before_detach(std::function<void()> step) { before_detach_.push_back(std::move(step)); }

    // Instead of finish() after attach(): frees what the session has of MPI, and MPI continues. Collective:
    // only if all ranks are known to call it (MpiTransport::settle), and none must_exit().
    void detach();

    // MPI_Abort: the launcher kills all ranks.
    [[noreturn]] void abort_job(int exit_code) const;

    // Communicators as Fortran handles: the only form with the same type in every MPI.
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
    bool threads_may_call_ = false;
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

// Converts a return code of MPI: "MPI_Comm_dup: MPI_ERR_COMM: invalid communicator", with
// ExitCode::unreachable.
Error mpi_error(const std::string& call, int code);

}  // namespace wq::ranks::mpi
