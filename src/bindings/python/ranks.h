// The ranks of an MPI job, which are workers of a Python program's queue.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "bindings/python/waits.h"
#include "work_queue/mpi.h"

namespace wq::bindings::python {

class PyRanks {
  public:
    explicit PyRanks(std::shared_ptr<MpiSession> session) : session_(std::move(session)) {}
    ~PyRanks() { end(); }
    PyRanks(const PyRanks&) = delete;

    bool usable() const { return process_.is() && session_; }
    // Throws RuntimeError's exception after end(), and in a process that was forked from theirs.
    const std::shared_ptr<MpiSession>& session() const {
        process_.check("this object of ranks", "use it there");
        if (!session_) throw std::runtime_error("these ranks have ended");
        return session_;
    }
    // They end when their queue has ended, too.
    void end() {
        if (!process_.is()) {
            [[maybe_unused]] const auto* const left_behind =
                new std::shared_ptr<MpiSession>(std::move(session_));
            return;
        }
        without_lock([held = std::move(session_)]() mutable {
            held.reset();
            return true;
        });
    }

  private:
    OfThisProcess process_;
    std::shared_ptr<MpiSession> session_;
};

}  // namespace wq::bindings::python
