#include "catalog_server/queries.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>

namespace wq::catalog_server {

namespace {

constexpr std::uint32_t most_request_bytes = 16 << 10;

class Query final : public Guest, public std::enable_shared_from_this<Query> {
  public:
    Query(std::unique_ptr<Stream> stream, const QueryRoom& room) : stream_(std::move(stream)), room_(room) {}

    void read() {
        stream_->read(part_.data(), part_.size(), [self = shared_from_this()](std::size_t count) {
            if (self->gone_) return;
            if (count == 0) return self->end();
            self->request_.append(self->part_.data(), count);
            self->look();
        });
    }
    void leave() override {
        gone_ = true;
        stream_->close();
    }

  private:
    void look() {
        auto request = net::read_request(request_, most_request_bytes);
        if (request && !*request) return read();
        head_only_ = request && (*request)->head_only;
        if (request)
            answer_ = room_.answer(**request);
        else
            answer_.now = answer_of_refusal(request.error());
        patience = patience_with_readers;
        last_ = instant_now() + room_.limits.answer;
        write();
    }
    void write() {
        if (!answer_.later) {
            piece_.clear();
            const bool more = answer_.now(piece_);
            return send(more);
        }
        room_.guests.step(*this, instant_now(), last_, 0);
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
            if (!more) return finish();
            return room_.turns.add([self = shared_from_this()] {
                if (!self->gone_) self->write();
            });
        }
        const Instant now = instant_now();
        room_.guests.step(*this, now, std::min(now + room_.limits.piece, last_), piece_.capacity());
        if (gone_) return;
        stream_->write(piece_, [self = shared_from_this(), more](std::size_t count) {
            if (self->gone_) return;
            if (count == 0) return self->end();
            more ? self->write() : self->finish();
        });
    }
    void finish() {
        stream_->finish([self = shared_from_this()](std::size_t) {
            if (!self->gone_) self->end();
        });
    }
    void end() {
        room_.guests.remove(shared_from_this());
        leave();
        room_.left();
    }

    std::unique_ptr<Stream> stream_;
    const QueryRoom& room_;
    std::array<char, 4096> part_{};
    std::string request_, piece_;
    Answer answer_;
    Instant last_{};
    bool head_only_ = false;
    bool gone_ = false;
};

}  // namespace

void Turns::add(std::function<void()> next) {
    waiting_.push_back(std::move(next));
    if (waiting_.size() == 1) boost::asio::post(context_, [this] { run_one(); });
}

void Turns::run_one() {
    const std::function<void()> next = std::move(waiting_.front());
    next();  // may add another
    waiting_.pop_front();
    if (!waiting_.empty()) boost::asio::post(context_, [this] { run_one(); });
}

void answer_query_of(std::unique_ptr<Stream> stream, std::string address, const QueryRoom& room) {
    const auto query = std::make_shared<Query>(std::move(stream), room);
    query->address = std::move(address);
    query->progressed = instant_now();
    query->deadline = query->progressed + room.limits.request;
    room.guests.add(query);
    query->read();
}

}  // namespace wq::catalog_server
