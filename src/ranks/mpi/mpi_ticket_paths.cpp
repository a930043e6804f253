#include "ranks/mpi/mpi_ticket_paths.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include <mpi.h>

#include "base/fields.h"
#include "ranks/mpi/mpi_muted_warning.h"
#include "ranks/mpi/segment.h"
#include "ranks/mpi/watchdog.h"

namespace wq::ranks::mpi {

template <class V>
void fields(TicketPaths& paths, V& visit) {
    visit(paths.window, paths.window_per_second, paths.message_per_second, paths.why);
}

namespace {

constexpr int kAsk = 11;     // client to rank 0: one claim, or with kEnd the end of the measurement
constexpr int kAnswer = 12;  // rank 0 to the client
constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::size_t kCounter = 0;

void nap(Duration time) {
    ::poll(nullptr, 0, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

// Rank 0's side: sleeps most of the time and calls MPI in between, as it does in a run. Unless the network
// serves the window itself, these calls do.
void serve(MPI_Comm comm, int claimer, Duration sleep) {
    std::uint64_t counter = 0;
    std::uint64_t asked = 0;
    while (asked != kEnd) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&asked, 1, MPI_UINT64_T, claimer, kAsk, comm, &request);
        for (int there = 0; !there; MPI_Test(&request, &there, MPI_STATUS_IGNORE)) nap(sleep);
        const std::uint64_t answer = counter;
        counter += 1;
        MPI_Isend(&answer, 1, MPI_UINT64_T, claimer, kAnswer, comm, &request);
        for (int gone = 0; !gone;) MPI_Test(&request, &gone, MPI_STATUS_IGNORE);
    }
}

std::uint64_t ask(MPI_Comm comm, std::uint64_t what) {
    std::uint64_t answer = 0;
    std::array<MPI_Request, 2> requests{};
    MPI_Irecv(&answer, 1, MPI_UINT64_T, 0, kAnswer, comm, &requests[0]);
    MPI_Isend(&what, 1, MPI_UINT64_T, 0, kAsk, comm, &requests[1]);
    for (int done = 0; !done;) MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE);
    return answer;
}

double rate(std::uint64_t claims, Instant since) {
    return static_cast<double>(claims) / std::chrono::duration<double>(instant_now() - since).count();
}

double message_rate(MPI_Comm comm, Duration time) {
    const Instant start = instant_now();
    std::uint64_t claims = 0;
    for (; instant_now() - start < time; ++claims) ask(comm, 0);
    return rate(claims, start);
}

// Why the window is unusable; empty: it answers, and `next` is the value of its counter.
std::string try_window(CounterWindow& window, Duration limit, std::uint64_t& next) {
    auto trial = window.try_add(kCounter, 1);
    if (!trial) return trial.error().message;
    const Instant start = instant_now();
    while (!(*trial)->done()) {
        if (instant_now() - start > limit) return "the window does not answer while rank 0 sleeps";
    }
    next = (*trial)->before() + 1;
    return {};
}

void end_hung_start() {
    std::fputs("one-sided calls of this MPI hang: run with --tickets message\n", stderr);
    ::_exit(to_int(ExitCode::unreachable));
}

std::string window_rate(CounterWindow& window, const TicketPathOptions& options, std::uint64_t next,
                        double& result) {
    const Watchdog watchdog(options.watchdog + options.each, end_hung_start);
    const Instant start = instant_now();
    std::uint64_t claims = 0;
    for (; instant_now() - start < options.each; ++claims) {
        const auto before = window.add(kCounter, 1);
        if (!before) return before.error().message;
        if (*before != next + claims) return "the window counts wrong";
    }
    result = rate(claims, start);
    return {};
}

std::string line(const char* verdict, const TicketPaths& paths) {
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.0f claims/s through the window, %.0f/s by message", verdict,
                  paths.window_per_second, paths.message_per_second);
    return text;
}

TicketPaths measure(MPI_Comm comm, CounterWindow& window, const TicketPathOptions& options) {
    TicketPaths paths;
    paths.message_per_second = message_rate(comm, options.each);
    std::uint64_t next = 0;
    std::string problem = try_window(window, options.watchdog, next);
    if (problem.empty()) problem = window_rate(window, options, next, paths.window_per_second);
    ask(comm, kEnd);
    if (!problem.empty()) {
        paths.why = "tickets by message: " + problem;
        return paths;
    }
    paths.window = paths.window_per_second > options.clearly * paths.message_per_second;
    paths.why = line(paths.window ? "tickets through the window" : "tickets by message", paths);
    return paths;
}

// The lowest rank that shares no memory with rank 0; -1 if all do.
Result<int> first_far_rank(const MpiSession& session) {
    const bool near = session.node_mates().front() == 0;
    const auto all = session.gather_world(near ? "near" : "far");
    if (!all) return all.error();
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
        if ((*all)[rank] == "far") return static_cast<int>(rank);
    }
    return -1;
}

}  // namespace

Result<TicketPaths> measure_ticket_paths(const MpiSession& session, CounterWindow* window,
                                         const std::string& window_problem,
                                         const TicketPathOptions& options) {
    TicketPaths paths;
    if (session.size() == 1) {
        paths.why = "tickets in this process: there is only one rank";
        return paths;
    }
    const auto far = first_far_rank(session);
    if (!far) return far.error();
    const int claimer = options.claimer.value_or(*far);
    if (claimer < 0) {
        paths.why = "tickets in shared memory: there is only one node";
        return paths;
    }
    if (!window) {
        paths.why = "tickets by message: " + window_problem;
        return paths;
    }

    MPI_Comm comm = MPI_COMM_NULL;
    if (const int code = MPI_Comm_dup(MPI_Comm_f2c(session.world_handle()), &comm); code != MPI_SUCCESS) {
        return mpi_error("MPI_Comm_dup", code);
    }
    if (session.rank() == 0) serve(comm, claimer, options.nap);
    if (session.rank() == claimer) paths = measure(comm, *window, options);
    const auto all = session.gather_world(bytes_of(paths));
    MPI_Comm_free(&comm);
    if (!all) return all.error();
    TicketPaths agreed;
    fields_are((*all)[static_cast<std::size_t>(claimer)], agreed);
    return agreed;
}

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
