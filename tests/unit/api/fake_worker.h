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

#include "net/frames/loopback.h"
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
    using Answer = std::function<void(const net::messages::Lease&, net::messages::Ended&)>;

    // `end`: its end of the line. Leases wait until begin() or release().
    FakeWorker(std::unique_ptr<net::frames::Transport> end, FakeWorkerOptions options, Answer answer)
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
    std::vector<net::messages::Kill> kills() {
        const std::lock_guard lock(mutex_);
        return kills_;
    }
    std::vector<net::messages::Lease> leases() {
        const std::lock_guard lock(mutex_);
        return all_;
    }

  private:
    void nudge() {
        const std::uint64_t one = 1;
        static_cast<void>(::write(wake_, &one, sizeof one) == sizeof one);
    }

    void say(const net::messages::Message& message) {
        end_->send(net::frames::PeerId(0), net::messages::encode(message));
    }

    void run() {
        net::messages::Hello hello;
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
            std::vector<net::frames::Arrival> inbox;
            end_->poll(inbox);
            for (const net::frames::Arrival& arrival : inbox)
                if (const auto* frame = std::get_if<net::frames::Frame>(&arrival)) hear(frame->bytes);
            answer_some();
            if (!dismissed_) say(net::messages::Beat{});
        }
    }

    void hear(const std::string& bytes) {
        const auto messages = net::messages::decode(bytes);
        const std::lock_guard lock(mutex_);
        for (const net::messages::Message& message : *messages) {
            if (const auto* lease = std::get_if<net::messages::Lease>(&message)) {
                waiting_.push_back(*lease);
                all_.push_back(*lease);
                ++given_;
            }
            if (const auto* kill = std::get_if<net::messages::Kill>(&message)) {
                kills_.push_back(*kill);
                std::erase_if(waiting_, [&](const net::messages::Lease& one) {
                    if (one.task.value() - kill->task.value() >= kill->count) return false;
                    net::messages::Ended killed{one.task, one.attempt, {}, {}};
                    killed.outcome.ending = engine::model::Ending::killed;
                    say(killed);
                    return true;
                });
            }
            if (std::holds_alternative<net::messages::Dismiss>(message)) dismissed_ = true;
            if (std::holds_alternative<net::messages::KillAll>(message)) {
                for (const net::messages::Lease& lease : waiting_)
                    say(net::messages::GivenBack{lease.task, lease.attempt});
                waiting_.clear();
            }
        }
        changed_.notify_all();
    }

    void answer_some() {
        std::vector<net::messages::Lease> leases;
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
        for (const net::messages::Lease& lease : leases) {
            net::messages::Ended ended{lease.task, lease.attempt, {}, {}};
            if (answer_) answer_(lease, ended);
            net::messages::encode(ended, out);
        }
        if (out.size() > 0) end_->send(net::frames::PeerId(0), out.take());
    }

    std::unique_ptr<net::frames::Transport> end_;
    FakeWorkerOptions options_;
    Answer answer_;
    int wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<net::messages::Lease> waiting_;
    std::vector<net::messages::Lease> all_;
    std::vector<net::messages::Kill> kills_;
    std::size_t given_ = 0;
    std::atomic<bool> dismissed_ = false;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> answering_ = false;
    std::atomic<std::size_t> may_answer_ = 0;
    std::thread thread_;
};

}  // namespace wq::testing
