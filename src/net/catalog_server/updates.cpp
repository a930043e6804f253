#include "net/catalog_server/updates.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "net/catalog/record.h"

namespace wq::net::catalog_server {

namespace {

using boost::asio::ip::udp;
using boost::system::error_code;

constexpr std::size_t datagrams_at_once = 8;
constexpr std::size_t most_datagram_bytes = 65'536;

enum class Progress { complete, over, waits };

// Reads what is there. It is over if the connection is broken, or brings no update: of a browser, or of a
// client that took the wrong port.
Progress read_update(int socket, std::string& text) {
    std::array<char, 1 << 16> part;
    for (int count = 0; count < 4; ++count) {
        const ssize_t size = ::recv(socket, part.data(), part.size(), MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN) break;
        if (size <= 0) return size == 0 ? Progress::complete : Progress::over;
        text.append(part.data(), static_cast<std::size_t>(size));
        if (text.size() > catalog::most_record_bytes || text.starts_with("GET ")) return Progress::over;
    }
    return Progress::waits;
}

class UpdateReader final : public Guest, public std::enable_shared_from_this<UpdateReader> {
  public:
    UpdateReader(Socket socket, std::string text, Guests& guests, const TakeUpdate& take)
        : socket_(std::move(socket)), guests_(guests), take_(take), text_(std::move(text)) {}

    void begin(Duration most) {
        guests_.add(shared_from_this(), instant_now() + most);
        go_on();
    }
    void leave() override {
        error_code ignored;
        socket_.close(ignored);
    }

  private:
    void go_on() {
        guests_.is_silent(*this, deadline, text_.capacity());
        if (!socket_.is_open()) return;
        socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
            if (!error && self->socket_.is_open()) self->read();
        });
    }
    void read() {
        const Progress progress = read_update(socket_.native_handle(), text_);
        if (progress == Progress::waits) return go_on();
        if (progress == Progress::complete && !text_.empty()) take_(text_, address, catalog::Protocol::tcp);
        guests_.remove(*this);
        leave();
    }

    Socket socket_;
    Guests& guests_;
    const TakeUpdate& take_;
    std::string text_;
};

}  // namespace

void read_update_from(Acceptor::Arrival arrival, boost::asio::io_context& context, Guests& guests,
                      const GuestLimits& limits, const TakeUpdate& take) {
    std::string text;
    const Progress progress = read_update(arrival.socket.get(), text);
    if (progress == Progress::complete && !text.empty()) take(text, arrival.address, catalog::Protocol::tcp);
    if (progress != Progress::waits) return;
    const std::string address = arrival.address;
    const auto reader =
        std::make_shared<UpdateReader>(socket_of(context, std::move(arrival)), std::move(text), guests, take);
    reader->address = address;
    reader->begin(limits.update);
}

struct DatagramReader::Buffers {
    std::array<std::array<char, most_datagram_bytes>, datagrams_at_once> bytes;
    std::array<frames::SocketAddress, datagrams_at_once> peers;
    std::array<iovec, datagrams_at_once> parts;
    std::array<mmsghdr, datagrams_at_once> messages;
};

DatagramReader::DatagramReader(boost::asio::io_context& context, std::vector<Descriptor> sockets,
                               TakeUpdate take)
    : buffers_(std::make_unique<Buffers>()), take_(std::move(take)) {
    for (Descriptor& descriptor : sockets) {
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
        take_({buffers_->bytes[at].data(), buffers_->messages[at].msg_len},
              frames::host_of(buffers_->peers[at]), catalog::Protocol::udp);
    }
    wait(socket);
}

}  // namespace wq::net::catalog_server
