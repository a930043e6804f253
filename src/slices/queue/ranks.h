// How the ranks of a job begin a SliceQueue together: either all go on, or all throw the same error.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/session_parts.h"
#include "base/result.h"
#include "manager/run/mpi_tickets.h"
#include "ranks/mpi/segment.h"
#include "slices/queue/pass.h"
#include "work_queue/error.h"

namespace wq::slices::queue {

// What each rank says: of rank 0 where it is, of all what they are about to share.
struct Opening {
    std::uint64_t digest = 0;  // Pass::digest()
    std::uint64_t seed = 0;
    std::string contact;  // of rank 0
    std::string problem;  // why it cannot begin; empty: it can
    std::uint64_t code = 0;

    // Whatever it throws, such as the program's own function, all ranks are told: others would wait for this
    // one.
    template <class Step>
    void attempt(Step&& step) {
        try {
            step();
        } catch (const SetupError& error) {
            fail(error.what(), error.exit_code());
        } catch (const Failure& failure) {
            fail(failure.error.message, to_int(failure.error.code));
        } catch (const std::exception& error) {
            fail(error.what(), 69);
        } catch (...) {
            fail("an unknown exception", 69);
        }
    }
    void fail(const std::string& why, int exit_code);

    std::string bytes() const;
};

// What all ranks say, in their order.
using Gather = std::function<std::vector<std::string>(const std::string& mine)>;

// Collective. Rank 0's opening. Throws SetupError, the same on all ranks: the first problem, or that a rank
// has another digest than rank 0.
Opening agreed(const Gather& gather, const Opening& mine);

// Tickets of a process that shares them with none: a worker, or a program alone.

inline manager::run::NodeTickets own_tickets(std::string name) {
    constexpr ranks::tickets::PoolShape shape{1, 0};
    manager::run::NodeTickets own;
    own.name = std::move(name);
    own.segment = ranks::mpi::make_private_segment(ranks::tickets::TicketPool::bytes_needed(shape));
    ranks::tickets::TicketPool::format(own.segment->data(), shape);
    own.pool = std::make_unique<ranks::tickets::TicketPool>(own.segment->data(), shape, 0);
    return own;
}

// The ranks of a job begin a queue together. Rank 0 gives the slices.

// In a process alone. Throws SetupError.
std::unique_ptr<Member> open_alone(const std::vector<std::string>& works, const SliceOptions& options);
struct AmongRanks {
    std::unique_ptr<Member> member;
    bool uses_counters = false;  // so no other queue may (MpiSession::Parts::is_using_counters)
};
// Collective. Throws SetupError, on all ranks the same.
AmongRanks open_among_ranks(MpiSession::Parts& parts, const std::vector<std::string>& works,
                            const SliceOptions& options);

}  // namespace wq::slices::queue
