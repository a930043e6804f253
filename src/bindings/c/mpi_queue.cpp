// Makes the ranks of an MPI job workers of a queue.
#include "cctools/work_queue_mpi.h"

#include <unistd.h>

#include <cstdlib>

#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "work_queue/mpi.h"

struct work_queue_mpi {
    explicit work_queue_mpi(wq::MpiOptions options) : session(std::move(options)) {}
    wq::MpiSession session;
    const int process = ::getpid();  // after the session, because that forks
    work_queue* queue = nullptr;     // created with these ranks
};

namespace wq::bindings::c {

namespace {

constexpr int bug = 70;

work_queue_mpi* ranks_of(const char* function, work_queue_mpi* ranks) {
    if (ranks != nullptr && LiveObjects<work_queue_mpi>::all().has(ranks)) return ranks;
    complain(function,
             ranks == nullptr ? "the ranks are NULL" : "these are not ranks, or they were finished");
    return nullptr;
}

// Ends the session.
void finish(work_queue_mpi* ranks) {
    LiveObjects<work_queue_mpi>::all().remove(ranks);
    delete ranks;
}

// Finishes the ranks that a program has not finished at its exit; their queue has already ended.
void finish_all() {
    for (const work_queue_mpi* ranks : LiveObjects<work_queue_mpi>::all().list())
        if (ranks->process == ::getpid()) finish(const_cast<work_queue_mpi*>(ranks));
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

work_queue_mpi* work_queue_mpi_start(work_queue_mpi_mode_t mode) {
    return guarded(__func__, static_cast<work_queue_mpi*>(nullptr), [&](const char*) {
        wq::MpiOptions options;
        options.manager_only = mode == WORK_QUEUE_MPI_MANAGER_ONLY;
        auto* ranks = new work_queue_mpi(options);
        LiveObjects<work_queue_mpi>::all().add(ranks);
        [[maybe_unused]] static const int once = std::atexit(finish_all);
        return ranks;
    });
}

int work_queue_mpi_rank(work_queue_mpi* ranks) {
    return ranks_of(__func__, ranks) == nullptr ? -1 : ranks->session.rank();
}

int work_queue_mpi_size(work_queue_mpi* ranks) {
    return ranks_of(__func__, ranks) == nullptr ? 0 : ranks->session.size();
}

int work_queue_mpi_serve(work_queue_mpi* ranks) {
    return guarded(__func__, bug, [&](const char* me) {
        if (ranks_of(me, ranks) == nullptr) return bug;
        if (ranks->session.rank() == 0) return refuse(me, "rank 0 is the manager and cannot serve", bug);
        const int code = ranks->session.serve();
        finish(ranks);
        return code;
    });
}

work_queue* work_queue_mpi_create(work_queue_mpi* ranks, int port) {
    return guarded(__func__, static_cast<work_queue*>(nullptr), [&](const char* me) -> work_queue* {
        if (ranks_of(me, ranks) == nullptr) return nullptr;
        if (ranks->session.rank() > 0) return refuse(me, "only rank 0 can be the manager", nullptr);
        if (ranks->queue != nullptr) return refuse(me, "these ranks already had a queue", nullptr);
        wq::ManagerOptions options;
        options.port = port;
        options.mpi = &ranks->session;
        options.listen = port != WORK_QUEUE_MPI_NO_PORT;
        wq::api::HeldPort held;
        if (options.listen) {
            auto found = wq::api::hold_port(options);
            if (!found) return refuse(me, found.error().message, nullptr);
            held = std::move(*found);
        }
        ranks->queue = new work_queue(std::move(options), std::move(held));
        return ranks->queue;
    });
}

void work_queue_mpi_finish(work_queue_mpi* ranks) {
    if (ranks == nullptr) return;
    guarded(__func__, [&](const char* me) {
        if (ranks_of(me, ranks) == nullptr) return;
        if (LiveObjects<work_queue>::all().has(ranks->queue)) return complain(me, "delete its queue first");
        finish(ranks);
    });
}
