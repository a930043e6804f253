#include "ranks/mpi/mpi_session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <mpi.h>

#include "base/fields.h"
#include "ranks/mpi/process_watch.h"
#include "ranks/mpi/watchdog.h"

namespace wq::ranks::mpi {

namespace {

Result<std::vector<std::string>> gather(int handle, int members, std::string_view blob) {
    const MPI_Comm comm = MPI_Comm_f2c(handle);
    const int size = static_cast<int>(blob.size());
    std::vector<int> sizes(static_cast<std::size_t>(members));
    int code = MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Allgather", code);
    std::vector<int> offsets(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), 0);
    std::string all(static_cast<std::size_t>(offsets.back() + sizes.back()), '\0');
    code =
        MPI_Allgatherv(blob.data(), size, MPI_BYTE, all.data(), sizes.data(), offsets.data(), MPI_BYTE, comm);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Allgatherv", code);
    std::vector<std::string> blobs;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        blobs.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(sizes[i])));
    }
    return blobs;
}

// Open MPI 5 aborts the job when the connection to a killed rank on another host closes ("Socket closed"),
// unless its fault tolerance is enabled. Under srun that makes it report the loss to PMIx, and Slurm ends the
// step all the same.
void survive_lost_ranks([[maybe_unused]] const LaunchEnvironment& environment) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    constexpr int keep_the_users = 0;
    if (environment.by_open_mpi) setenv("OMPI_MCA_mpi_ft_enable", "1", keep_the_users);
#endif
}

}  // namespace

Result<std::unique_ptr<MpiSession>> MpiSession::start(const LaunchEnvironment& environment) {
    std::unique_ptr<MpiSession> session(new MpiSession);
    if (!environment.launched) {
        if (auto alone = check_world_size(environment, 1); !alone.ok()) return alone.error();
        return session;
    }
    survive_lost_ranks(environment);
    int granted = MPI_THREAD_SINGLE;
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &granted);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Init_thread", code);
    session->has_mpi_ = true;
    session->serialized_ = granted >= MPI_THREAD_SERIALIZED;
    session->threads_may_call_ = granted >= MPI_THREAD_MULTIPLE;
    if (granted < MPI_THREAD_FUNNELED) {
        return Error{ExitCode::unreachable, "this MPI supports no threads (MPI_THREAD_FUNNELED is needed)"};
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (auto joined = session->join(environment); !joined.ok()) return joined.error();
    return session;
}

Result<std::unique_ptr<MpiSession>> MpiSession::attach(const LaunchEnvironment& environment) {
    std::unique_ptr<MpiSession> session(new MpiSession);
    int granted = MPI_THREAD_SINGLE;
    if (const int code = MPI_Query_thread(&granted); code != MPI_SUCCESS)
        return mpi_error("MPI_Query_thread", code);
    session->has_mpi_ = true;
    session->attached_ = true;
    session->serialized_ = granted >= MPI_THREAD_SERIALIZED;
    session->threads_may_call_ = granted >= MPI_THREAD_MULTIPLE;
    if (auto joined = session->join(environment); !joined.ok()) return joined.error();
    return session;
}

Status MpiSession::join(const LaunchEnvironment& environment) {
    if (auto joined = join_world(); !joined.ok()) return joined;
    if (auto joined = join_node(); !joined.ok()) return joined;
    return check_world_size(environment, size_);
}

bool MpiSession::started_before() {
    int started = 0;
    return MPI_Initialized(&started) == MPI_SUCCESS && started != 0;
}

bool MpiSession::over_before() {
    int over = 0;
    return MPI_Finalized(&over) == MPI_SUCCESS && over != 0;
}

Status MpiSession::join_world() {
    MPI_Comm world = MPI_COMM_NULL;
    if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &world); code != MPI_SUCCESS) {
        return mpi_error("MPI_Comm_dup", code);
    }
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
    world_handle_ = MPI_Comm_c2f(world);
    return success();
}

Status MpiSession::join_node() {
    MPI_Comm node = MPI_COMM_NULL;
    int code =
        MPI_Comm_split_type(MPI_Comm_f2c(world_handle_), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split_type", code);
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    int members = 1;
    MPI_Comm_rank(node, &node_rank_);
    MPI_Comm_size(node, &members);
    node_handle_ = MPI_Comm_c2f(node);
    node_mates_.resize(static_cast<std::size_t>(members));
    code = MPI_Allgather(&rank_, 1, MPI_INT, node_mates_.data(), 1, MPI_INT, node);
    return code == MPI_SUCCESS ? success() : mpi_error("MPI_Allgather", code);
}

Result<std::vector<std::string>> MpiSession::gather_world(std::string_view blob) const {
    if (!has_mpi_) return std::vector<std::string>{std::string(blob)};
    return gather(world_handle_, size_, blob);
}

Result<std::vector<std::string>> MpiSession::gather_node(std::string_view blob) const {
    if (!has_mpi_) return std::vector<std::string>{std::string(blob)};
    return gather(node_handle_, node_size(), blob);
}

namespace {
// The code and the message; empty for success.
std::string encode(const Status& status) {
    if (status) return {};
    return static_cast<char>(to_int(status.error().code)) + status.error().message;
}

Status first_error(const std::vector<std::string>& all) {
    const auto failed = std::find_if(all.begin(), all.end(), [](const auto& one) { return !one.empty(); });
    if (failed == all.end()) return success();
    return Error{static_cast<ExitCode>(failed->front()), failed->substr(1)};
}
}  // namespace

Status MpiSession::agree_world(const Status& mine) const {
    return first_error(gather_world(encode(mine)).or_throw());
}

Status MpiSession::agree_node(const Status& mine) const {
    return first_error(gather_node(encode(mine)).or_throw());
}

Status MpiSession::watch_node(ProcessWatch& watch) const {
    const ProcessAddress self = own_process_address();
    const auto all = gather_node(bytes_of(self.pid, self.pid_namespace));
    if (!all) return all.error();
    for (std::size_t mate = 0; mate < all->size(); ++mate) {
        ProcessAddress address = self;
        fields_are((*all)[mate], address.pid, address.pid_namespace);
        const int rank = node_mates_[mate];
        if (rank != rank_) watch.add(static_cast<std::uint32_t>(rank), address);
    }
    // All ranks are alive until here, so no pid was reused before its watch began.
    const auto last = gather_node("");
    return last ? success() : last.error();
}

bool MpiSession::finish(int exit_code, Duration limit) {
    if (finished_ || !has_mpi_) return true;
    finished_ = true;
    if (must_exit_) return false;
    const Watchdog watchdog(limit, [exit_code] { ::_exit(exit_code); });
    for (const auto& step : before_finalize_) step();
    return MPI_Finalize() == MPI_SUCCESS;
}

void MpiSession::abort_job(int exit_code) const {
    if (has_mpi_) MPI_Abort(MPI_Comm_f2c(world_handle_), exit_code);
    ::_exit(exit_code);
}

void MpiSession::detach() {
    for (const auto* steps : {&before_detach_, &before_finalize_}) {
        for (const auto& step : *steps) step();
    }
    for (int* const handle : {&node_handle_, &world_handle_}) {
        MPI_Comm comm = MPI_Comm_f2c(*handle);
        MPI_Comm_free(&comm);
    }
}

Error mpi_error(const std::string& call, int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    std::string message = call + ": " + std::string(text, static_cast<std::size_t>(length));
    for (char& c : message) {
        if (c == '\n') c = ' ';
    }
    return {ExitCode::unreachable, message};
}

}  // namespace wq::ranks::mpi
