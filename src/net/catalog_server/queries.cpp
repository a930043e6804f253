#include "net/catalog_server/queries.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>

namespace wq::net::catalog_server {

namespace {

constexpr std::uint32_t most_request_bytes = 16 << 10;

class Query final : public Guest, public std::enable_shared_from_this<Query> {
  public:
    Query(std::unique_ptr<ClientStream> stream, const QueryRoom& room)
        : stream_(std::move(stream)), room_(room) {}

    void read() {
        stream_->read(part_.data(), part_.size(), [self = shared_from_this()](std::size_t count) {
            if (self->gone_) return;
            if (count == 0) return self->end();
            self->request_.append(self->part_.data(), count);
            self->read_or_answer();
        });
    }
    void leave() override {
        gone_ = true;
        stream_->close();
    }

  private:
    void read_or_answer() {
        auto request = frames::read_request(request_, most_request_bytes);
        if (request && !*request) return read();
        head_only_ = request && (*request)->head_only;
        if (request)
            answer_ = room_.answer(**request);
        else
            answer_.now = answer_of_refusal(request.error());
        request_ = {};
        last_ = instant_now() + room_.limits.answer;
        // What the tree of an expression takes is less.
        cost_ = sizeof *this + (request ? (*request)->path.size() * 128 : 0);
        room_.guests.is_answered(*this, last_, cost_);
        if (!gone_) write();  // short answers wait for nobody
    }
    void wait_for_turn() {
        if (gone_) return;
        room_.turns.add(neighbours, [query = weak_from_this()] {
            const auto self = query.lock();
            if (!self || self->gone_) return false;
            self->write();
            return true;
        });
    }
    void write() {
        if (!answer_.later) {
            piece_.clear();
            const bool more = answer_.now(piece_);
            return send(more);
        }
        room_.guests.is_answered(*this, last_, cost_);
        answer_.later([self = shared_from_this()](std::string piece, bool more) {
            if (self->gone_) return;
            self->piece_ = std::move(piece);
            self->send(more);
        });
    }
    void send(bool more) {
        if (head_only_) {
            piece_.resize(std::min(piece_.find("\r\n\r\n") + 4, piece_.size()));
            more = false;
        }
        if (piece_.empty()) {  // the others have their turn
            return more ? wait_for_turn() : finish();
        }
        room_.guests.is_answered(*this, next_deadline(), cost_ + piece_.capacity());
        if (gone_) return;
        stream_->write(piece_, [self = shared_from_this(), more](std::size_t count) {
            if (self->gone_) return;
            if (count == 0) return self->end();
            more ? self->wait_for_turn() : self->finish();
        });
    }
    void finish() {
        answer_.now = {};
        piece_ = {};
        room_.guests.is_silent(*this, next_deadline(), 0);
        if (gone_) return;
        stream_->finish([self = shared_from_this()](std::size_t) {
            if (!self->gone_) self->end();
        });
    }
    void end() {
        room_.guests.remove(*this);
        leave();
    }
    Instant next_deadline() const { return std::min(instant_now() + room_.limits.piece, last_); }

    std::unique_ptr<ClientStream> stream_;
    const QueryRoom& room_;
    std::array<char, 4096> part_{};
    std::string request_, piece_;
    HttpAnswer answer_;
    Instant last_{};
    std::size_t cost_ = 0;  // bytes of memory, without pieces
    bool head_only_ = false;
    bool gone_ = false;
};

}  // namespace

void QueryTurns::add(const std::string& address, std::function<bool()> make) {
    waiting_[address].push_back(std::move(make));
    wake();
}

void QueryTurns::wake() {
    if (waiting_.empty() || std::exchange(posted_, true)) return;
    boost::asio::post(context_, [this] {
        posted_ = false;
        while (!waiting_.empty() && !run_one()) {
        }
        wake();
    });
}

bool QueryTurns::run_one() {
    auto next = waiting_.upper_bound(last_);
    if (next == waiting_.end()) next = waiting_.begin();
    last_ = next->first;
    auto& waiting = next->second;
    bool made = false;
    // Those that nobody wants any more may be many: all of them go.
    while (!made && !waiting.empty()) {
        const std::function<bool()> make = std::move(waiting.front());
        waiting.pop_front();
        made = make();  // may add another
    }
    if (waiting.empty()) waiting_.erase(next);
    return made;
}

void answer_query_of(std::unique_ptr<ClientStream> stream, std::string address, const QueryRoom& room) {
    // Not with make_shared(): a turn that it does not live to see should keep none of its memory.
    const std::shared_ptr<Query> query(new Query(std::move(stream), room));
    query->address = std::move(address);
    room.guests.add(query, instant_now() + room.limits.request);
    query->read();
}

}  // namespace wq::net::catalog_server
