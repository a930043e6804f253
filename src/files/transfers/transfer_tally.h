// Background jobs of one owner: the callback of a job is dropped once the owner is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/background.h"
#include "base/ids.h"
#include "base/time.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

class FileJobs {
  public:
    explicit FileJobs(Background& background) : background_(background) {}

    void post(Background::Job job) {
        background_.post([job = std::move(job), alive = std::weak_ptr(alive_)]() -> Background::Then {
            Background::Then then = job();
            if (!then) return {};
            return [then = std::move(then), alive] {
                if (alive.lock()) then();
            };
        });
    }

  private:
    Background& background_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The identity of a lease, and a way to send a message to a worker.

using LeaseKey = std::pair<TaskId, Attempt>;
using SendToWorker = std::function<void(WorkerId, const net::messages::Message&)>;

// Counts the files sent to and received from workers.

// A complete transfer: an input to a worker, or an output to the manager.
struct Transfer {
    TaskId task;
    bool input = true;
    bool cached = false;
    std::string name;  // in the sandbox
    std::uint64_t bytes = 0;
    Duration took{0};  // nothing: sent in its lease
};

class TransferTally {
  public:
    // `each` is called for every transfer.
    explicit TransferTally(std::function<void(const Transfer&)> each) : each_(std::move(each)) {}

    void sent(std::uint64_t bytes) { bytes_sent_ += static_cast<std::int64_t>(bytes); }
    void received(std::uint64_t bytes) { bytes_received_ += static_cast<std::int64_t>(bytes); }
    void count(const Transfer& transfer);

    // Bytes of contents since the start, including those in leases.
    std::int64_t bytes_sent() const { return bytes_sent_; }
    std::int64_t bytes_received() const { return bytes_received_; }
    // Mean rate of complete transfers, in MB (of 2^20 bytes) per second; 0: none.
    double bandwidth() const;

  private:
    std::function<void(const Transfer&)> each_;
    std::int64_t bytes_sent_ = 0;
    std::int64_t bytes_received_ = 0;
    // Sum over complete transfers, each with its own time.
    std::int64_t bytes_of_transfers_ = 0;
    Duration time_of_transfers_{0};
};

}  // namespace wq::files::transfers
