#include "catalog_server/updates.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "catalog/record.h"

namespace wq::catalog_server {

namespace {

using boost::asio::ip::udp;
using boost::system::error_code;

constexpr std::size_t datagrams_at_once = 8;
constexpr std::size_t most_datagram_bytes = 65'536;

class UpdateReader final : public Guest, public std::enable_shared_from_this<UpdateReader> {
  public:
    UpdateReader(Socket socket, Guests& guests, const TakeUpdate& take, std::function<void()> left)
        : socket_(std::move(socket)), guests_(guests), take_(take), left_(std::move(left)) {}

    void wait() {
        socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
            if (!error && self->socket_.is_open()) self->read();
        });
    }
    void leave() override {
        error_code ignored;
        socket_.close(ignored);
    }

  private:
    void read() {
        std::array<char, 1 << 16> part;
        for (int count = 0; count < 4; ++count) {
            const ssize_t size = ::recv(socket_.native_handle(), part.data(), part.size(), MSG_DONTWAIT);
            if (size < 0 && errno == EAGAIN) break;
            if (size <= 0) return end(size == 0);
            text_.append(part.data(), static_cast<std::size_t>(size));
            // A browser, or a client that took the wrong port.
            if (text_.size() > catalog::most_record_bytes || text_.starts_with("GET ")) return end(false);
        }
        guests_.step(*this, instant_now(), deadline, text_.capacity());
        if (socket_.is_open()) wait();
    }
    void end(bool complete) {
        if (complete && !text_.empty()) take_(text_, address, false);
        guests_.remove(shared_from_this());
        leave();
        left_();
    }

    Socket socket_;
    Guests& guests_;
    const TakeUpdate& take_;
    std::function<void()> left_;
    std::string text_;
};

}  // namespace

void read_update_from(Socket socket, std::string address, Guests& guests, const GuestLimits& limits,
                      const TakeUpdate& take, std::function<void()> left) {
    const auto reader = std::make_shared<UpdateReader>(std::move(socket), guests, take, std::move(left));
    reader->address = std::move(address);
    reader->progressed = instant_now();
    reader->deadline = reader->progressed + limits.update;
    guests.add(reader);
    reader->wait();
}

struct DatagramReader::Buffers {
    std::array<std::array<char, most_datagram_bytes>, datagrams_at_once> bytes;
    std::array<net::SocketAddress, datagrams_at_once> peers;
    std::array<iovec, datagrams_at_once> parts;
    std::array<mmsghdr, datagrams_at_once> messages;
};

DatagramReader::DatagramReader(boost::asio::io_context& context, std::vector<net::OwnedDescriptor> sockets,
                               TakeUpdate take)
    : buffers_(std::make_unique<Buffers>()), take_(std::move(take)) {
    for (net::OwnedDescriptor& descriptor : sockets) {
        const bool v6 = protocol_of(descriptor.get()) == boost::asio::ip::tcp::v6();
        sockets_.push_back(std::make_unique<udp::socket>(context));
        sockets_.back()->assign(v6 ? udp::v6() : udp::v4(), descriptor.release());
        wait(*sockets_.back());
    }
}

DatagramReader::~DatagramReader() = default;

void DatagramReader::wait(udp::socket& socket) {
    socket.async_wait(udp::socket::wait_read, [this, &socket](error_code error) {
        if (!error) read(socket);
    });
}

void DatagramReader::read(udp::socket& socket) {
    for (std::size_t at = 0; at < datagrams_at_once; ++at) {
        buffers_->parts[at] = {buffers_->bytes[at].data(), most_datagram_bytes};
        buffers_->messages[at] = {};
        msghdr& head = buffers_->messages[at].msg_hdr;
        head.msg_name = buffers_->peers[at].get();
        head.msg_namelen = sizeof buffers_->peers[at].storage;
        head.msg_iov = &buffers_->parts[at];
        head.msg_iovlen = 1;
    }
    const int count = ::recvmmsg(socket.native_handle(), buffers_->messages.data(), datagrams_at_once,
                                 MSG_DONTWAIT, nullptr);
    for (std::size_t at = 0; at < static_cast<std::size_t>(std::max(count, 0)); ++at) {
        buffers_->peers[at].bytes = buffers_->messages[at].msg_hdr.msg_namelen;
        take_({buffers_->bytes[at].data(), buffers_->messages[at].msg_len}, net::host_of(buffers_->peers[at]),
              true);
    }
    wait(socket);
}

}  // namespace wq::catalog_server
