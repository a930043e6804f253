#include "ranks/mpi/mpi_counter_window.h"

#include <mpi.h>

#include <algorithm>

#include "ranks/mpi/mpi_error.h"
#include "ranks/mpi/mpi_muted_warning.h"
#include "ranks/mpi/segment.h"

namespace wq::ranks::mpi {

namespace {

constexpr int kOwner = 0;

MPI_Aint place_of(std::size_t counter) {
    return static_cast<MPI_Aint>(counter);
}

class RequestTrial final : public CounterWindow::Trial {
  public:
    // Allocated separately and leaked when abandoned: MPI may write to it at any later time.
    struct Cell {
        std::uint64_t amount = 0;
        std::uint64_t before = 0;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    explicit RequestTrial(std::unique_ptr<Cell> cell) : cell_(std::move(cell)) {}
    ~RequestTrial() override {
        if (cell_->request == MPI_REQUEST_NULL) return;
        [[maybe_unused]] Cell* left_behind = cell_.release();
    }
    RequestTrial(const RequestTrial&) = delete;
    RequestTrial& operator=(const RequestTrial&) = delete;

    bool done() override {
        int done = 0;
        return MPI_Test(&cell_->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
    }
    std::uint64_t before() const override { return cell_->before; }

  private:
    std::unique_ptr<Cell> cell_;
};

}  // namespace

struct CounterWindow::Window {
    MPI_Win handle = MPI_WIN_NULL;
    MPI_Comm world = MPI_COMM_NULL;  // the session's
    bool locked = false;

    Status allocate(const MpiSession& session, std::size_t counters);
    Status lock();
    void give_back_at_the_end(MpiSession& session) const;
    Result<std::uint64_t> fetch(std::size_t counter, std::uint64_t value, MPI_Op op) const {
        std::uint64_t before = 0;
        int code = MPI_Fetch_and_op(&value, &before, MPI_UINT64_T, kOwner, place_of(counter), op, handle);
        if (code != MPI_SUCCESS) return mpi_error("MPI_Fetch_and_op", code);
        code = MPI_Win_flush(kOwner, handle);
        if (code != MPI_SUCCESS) return mpi_error("MPI_Win_flush", code);
        return before;
    }
};

CounterWindow::CounterWindow(std::unique_ptr<Window> window) : window_(std::move(window)) {}

// Not freed here: freeing is collective, and a rank may be lost by now.
CounterWindow::~CounterWindow() = default;

// Collective, but the result is this rank's only.
Status CounterWindow::Window::allocate(const MpiSession& session, std::size_t counters) {
    MPI_Comm comm = MPI_COMM_NULL;
    world = MPI_Comm_f2c(session.world_handle());
    int code = MPI_Comm_dup(world, &comm);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_dup", code);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const bool owner = session.rank() == kOwner;
    const MPI_Aint bytes = owner ? static_cast<MPI_Aint>(counters * sizeof(std::uint64_t)) : 0;
    std::uint64_t* memory = nullptr;
    {
        const MutedWarning muted;
        code = MPI_Win_allocate(bytes, sizeof(std::uint64_t), MPI_INFO_NULL, comm, &memory, &handle);
    }
    MPI_Comm_free(&comm);  // a window has a duplicate of its own
    if (code != MPI_SUCCESS) {
        handle = MPI_WIN_NULL;
        return mpi_error("MPI_Win_allocate", code);
    }
    MPI_Win_set_errhandler(handle, MPI_ERRORS_RETURN);
    if (owner) std::fill_n(memory, counters, 0);
    return success();
}

Status CounterWindow::Window::lock() {
    const int code = MPI_Win_lock_all(MPI_MODE_NOCHECK, handle);
    locked = code == MPI_SUCCESS;
    return locked ? success() : mpi_error("MPI_Win_lock_all", code);
}

// Collective. MPICH 4.0.2 over UCX aborts rank 0 in MPI_Finalize if the window still exists.
void CounterWindow::Window::give_back_at_the_end(MpiSession& session) const {
    const auto holders = session.gather_world(handle == MPI_WIN_NULL ? "" : "held").or_throw();
    const auto without = std::count(holders.begin(), holders.end(), "");
    if (without == session.size()) return;
    if (without > 0) return session.note_stuck_window();
    session.before_finalize([window = handle, locked = locked]() mutable {
        if (locked) MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    });
}

Result<std::unique_ptr<CounterWindow>> CounterWindow::open(MpiSession& session, std::size_t counters) {
    if (session.size() == 1) return Error{ExitCode::unreachable, "a window needs more than one rank"};
    auto window = std::make_unique<Window>();
    Status opened = session.agree_world(room_in_shared_memory(counters * sizeof(std::uint64_t)));
    if (!opened) return opened.error();
    opened = session.agree_world(window->allocate(session, counters));
    if (opened) opened = session.agree_world(window->lock());
    window->give_back_at_the_end(session);
    if (!opened) return opened.error();
    return std::unique_ptr<CounterWindow>(new CounterWindow(std::move(window)));
}

Result<std::uint64_t> CounterWindow::add(std::size_t counter, std::uint64_t amount) {
    return window_->fetch(counter, amount, MPI_SUM);
}

Result<std::uint64_t> CounterWindow::exchange(std::size_t counter, std::uint64_t value) {
    return window_->fetch(counter, value, MPI_REPLACE);
}

void CounterWindow::serve() {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, window_->world, &there, MPI_STATUS_IGNORE);
}

Result<std::unique_ptr<CounterWindow::Trial>> CounterWindow::try_add(std::size_t counter,
                                                                     std::uint64_t amount) {
    auto cell = std::make_unique<RequestTrial::Cell>();
    cell->amount = amount;
    const int code =
        MPI_Rget_accumulate(&cell->amount, 1, MPI_UINT64_T, &cell->before, 1, MPI_UINT64_T, kOwner,
                            place_of(counter), 1, MPI_UINT64_T, MPI_SUM, window_->handle, &cell->request);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Rget_accumulate", code);
    return std::unique_ptr<Trial>(std::make_unique<RequestTrial>(std::move(cell)));
}

}  // namespace wq::ranks::mpi
