// A worker on a thread of the test, over a line within the process: it answers leases as the test says.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "net/frames/pipe.h"
#include "net/messages/messages.h"

namespace wq::testing {

struct FakeWorkerOptions {
    std::uint32_t rank = 1;
    std::string host = "host";
    std::int64_t cores = 4;
    std::vector<std::string> features{};
};

class FakeWorker {
  public:
    using Answer = std::function<void(const wire::Lease&, wire::Ended&)>;

    // `end`: its end of the line. Leases wait until begin() or release().
    FakeWorker(std::unique_ptr<net::Transport> end, FakeWorkerOptions options, Answer answer)
        : end_(std::move(end)),
          options_(std::move(options)),
          answer_(std::move(answer)),
          wake_(::eventfd(0, EFD_CLOEXEC)),
          thread_([this] { run(); }) {}
    ~FakeWorker() {
        stop_ = true;
        nudge();
        thread_.join();
        ::close(wake_);
    }

    // Answers all leases that it has and will have.
    void begin() {
        answering_ = true;
        nudge();
    }
    // Answers the next `count` leases.
    void answer(std::size_t count) {
        may_answer_ += count;
        nudge();
    }
    // Until it has been given so many leases, in all.
    void wait_for_leases(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return given_ >= count; });
    }
    // Until it has been told to kill so many times, in all.
    void wait_for_kills(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return kills_.size() >= count; });
    }
    void wait_for_dismissal() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return dismissed_.load(); });
    }
    std::vector<wire::Kill> kills() {
        const std::lock_guard lock(mutex_);
        return kills_;
    }
    std::vector<wire::Lease> leases() {
        const std::lock_guard lock(mutex_);
        return all_;
    }

  private:
    void nudge() {
        const std::uint64_t one = 1;
        static_cast<void>(::write(wake_, &one, sizeof one) == sizeof one);
    }

    void say(const wire::Message& message) { end_->send(net::PeerId(0), wire::encode(message)); }

    void run() {
        wire::Hello hello;
        hello.rank = options_.rank;
        hello.host = options_.host;
        hello.offers = {options_.cores, 4096, 4096, 0};
        hello.features = options_.features;
        say(hello);
        while (!stop_) {
            pollfd ready[2] = {{wake_, POLLIN, 0}, {end_->descriptors().front(), POLLIN, 0}};
            ::poll(ready, 2, 500);
            if (ready[0].revents != 0) {
                std::uint64_t count = 0;
                static_cast<void>(::read(wake_, &count, sizeof count) > 0);
            }
            std::vector<net::Arrival> inbox;
            end_->poll(inbox);
            for (const net::Arrival& arrival : inbox)
                if (const auto* frame = std::get_if<net::Frame>(&arrival)) hear(frame->bytes);
            answer_some();
            if (!dismissed_) say(wire::Beat{});
        }
    }

    void hear(const std::string& bytes) {
        const auto messages = wire::decode(bytes);
        const std::lock_guard lock(mutex_);
        for (const wire::Message& message : *messages) {
            if (const auto* lease = std::get_if<wire::Lease>(&message)) {
                waiting_.push_back(*lease);
                all_.push_back(*lease);
                ++given_;
            }
            if (const auto* kill = std::get_if<wire::Kill>(&message)) {
                kills_.push_back(*kill);
                std::erase_if(waiting_, [&](const wire::Lease& one) {
                    if (one.task.value() - kill->task.value() >= kill->count) return false;
                    wire::Ended killed{one.task, one.attempt, {}, {}};
                    killed.outcome.ending = core::Ending::killed;
                    say(killed);
                    return true;
                });
            }
            if (std::holds_alternative<wire::Dismiss>(message)) dismissed_ = true;
            if (std::holds_alternative<wire::KillAll>(message)) {
                for (const wire::Lease& lease : waiting_) say(wire::GivenBack{lease.task, lease.attempt});
                waiting_.clear();
            }
        }
        changed_.notify_all();
    }

    void answer_some() {
        std::vector<wire::Lease> leases;
        {
            const std::lock_guard lock(mutex_);
            const std::size_t most =
                answering_ ? waiting_.size() : std::min(may_answer_.load(), waiting_.size());
            const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(most);
            leases.assign(waiting_.begin(), end);
            waiting_.erase(waiting_.begin(), end);
            if (!answering_) may_answer_ -= most;
        }
        ByteWriter out;
        for (const wire::Lease& lease : leases) {
            wire::Ended ended{lease.task, lease.attempt, {}, {}};
            if (answer_) answer_(lease, ended);
            wire::encode(ended, out);
        }
        if (out.size() > 0) end_->send(net::PeerId(0), out.take());
    }

    std::unique_ptr<net::Transport> end_;
    FakeWorkerOptions options_;
    Answer answer_;
    int wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<wire::Lease> waiting_;
    std::vector<wire::Lease> all_;
    std::vector<wire::Kill> kills_;
    std::size_t given_ = 0;
    std::atomic<bool> dismissed_ = false;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> answering_ = false;
    std::atomic<std::size_t> may_answer_ = 0;
    std::thread thread_;
};

}  // namespace wq::testing
