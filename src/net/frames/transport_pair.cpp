#include "net/frames/transport_pair.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/wake.h"

namespace wq::net::frames {

namespace {

constexpr PeerId the_other{0};

// Frames in flight to one end.
class Line {
  public:
    int descriptor() const { return wake_.descriptor(); }

    void put(Arrival arrival) {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        waiting_.push_back(std::move(arrival));
        wake();
    }
    // Nothing follows it.
    void end(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        closed_ = true;
        waiting_.push_back(Left{the_other, why});
        wake();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        waiting_.clear();
    }
    bool take(std::vector<Arrival>& inbox) {
        const std::lock_guard lock(mutex_);
        if (woken_ && wake_.clear()) woken_ = false;
        if (waiting_.empty()) return false;
        inbox.insert(inbox.end(), std::make_move_iterator(waiting_.begin()),
                     std::make_move_iterator(waiting_.end()));
        waiting_.clear();
        return true;
    }

  private:
    // One system call for all frames until the next read.
    void wake() {
        if (!woken_) woken_ = wake_.set();
    }

    std::mutex mutex_;
    std::vector<Arrival> waiting_;
    Wake wake_;
    bool woken_ = false;
    bool closed_ = false;
};

using Lines = std::array<Line, 2>;

class PairEnd : public Transport {
  public:
    PairEnd(std::shared_ptr<Lines> lines, std::size_t self) : lines_(std::move(lines)), self_(self) {}
    ~PairEnd() override {
        mine().close();
        other().end("its end of the line was closed");
    }

    void send(PeerId, std::string frame) override { other().put(Frame{the_other, std::move(frame)}); }
    bool poll(std::vector<Arrival>& inbox) override { return mine().take(inbox); }
    void close(PeerId) override {
        mine().close();
        other().end("the other end closed the line");
    }
    bool idle() const override { return true; }
    std::vector<int> descriptors() const override { return {mine().descriptor()}; }

  private:
    Line& mine() const { return (*lines_)[self_]; }
    Line& other() const { return (*lines_)[1 - self_]; }
    std::shared_ptr<Lines> lines_;
    std::size_t self_;
};

}  // namespace

Result<TransportPair> open_transport_pair(std::string name_of_first, std::string name_of_second) {
    auto lines = std::make_shared<Lines>();
    for (const Line& line : *lines)
        if (line.descriptor() < 0)
            return Error{ExitCode::unreachable, std::string("no descriptor for a line within the process: ") +
                                                    std::strerror(errno) + "; raise ulimit -n"};
    (*lines)[0].put(Joined{the_other, std::move(name_of_second)});
    (*lines)[1].put(Joined{the_other, std::move(name_of_first)});
    return TransportPair{std::make_unique<PairEnd>(lines, 0), std::make_unique<PairEnd>(lines, 1)};
}

}  // namespace wq::net::frames
