#include "net/catalog_server/connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <boost/asio/write.hpp>

namespace wq::net::catalog_server {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class PlainStream final : public ClientStream {
  public:
    explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

    void read(char* bytes, std::size_t most, Done done) override {
        socket_.async_read_some(
            asio::buffer(bytes, most),
            [done = std::move(done)](error_code error, std::size_t count) { done(error ? 0 : count); });
    }
    void write(std::string_view bytes, Done done) override {
        asio::async_write(
            socket_, asio::buffer(bytes.data(), bytes.size()),
            [done = std::move(done)](error_code error, std::size_t count) { done(error ? 0 : count); });
    }
    void close() override {
        error_code ignored;
        socket_.close(ignored);
    }
    void finish(Done done) override {
        error_code ignored;
        socket_.shutdown(Socket::shutdown_send, ignored);
        socket_.async_read_some(asio::buffer(rest_),
                                [done = std::move(done)](error_code, std::size_t) { done(0); });
    }

  private:
    Socket socket_;
    std::array<char, 64> rest_{};
};

}  // namespace

std::unique_ptr<ClientStream> make_plain_stream(Socket socket) {
    return std::make_unique<PlainStream>(std::move(socket));
}

using boost::asio::ip::tcp;

tcp protocol_of(int descriptor) {
    frames::SocketAddress own;
    own.bytes = sizeof own.storage;
    ::getsockname(descriptor, own.get(), &own.bytes);
    return own.family() == AF_INET6 ? tcp::v6() : tcp::v4();
}

Socket socket_of(boost::asio::io_context& context, Acceptor::Arrival arrival) {
    Socket socket(context);
    socket.assign(arrival.protocol, arrival.socket.release());
    return socket;
}

Acceptor::Acceptor(boost::asio::io_context& context, frames::ListeningSockets sockets, Enter enter)
    : enter_(std::move(enter)), port_(sockets.port) {
    for (Descriptor& descriptor : sockets.descriptors) {
        const tcp protocol = protocol_of(descriptor.get());
        listeners_.push_back(std::make_unique<Listener>(Listener{tcp::acceptor(context), protocol}));
        listeners_.back()->acceptor.assign(protocol, descriptor.release());
        wait(*listeners_.back());
    }
}

void Acceptor::resume() {
    for (const auto& listener : listeners_)
        if (!listener->waits) wait(*listener);
}

void Acceptor::wait(Listener& listener) {
    listener.waits = true;
    listener.acceptor.async_wait(tcp::acceptor::wait_read,
                                 [this, &listener](boost::system::error_code error) {
                                     listener.waits = false;
                                     if (!error) accept(listener);
                                 });
}

void Acceptor::accept(Listener& listener) {
    constexpr int most_at_once = 32;
    for (int count = 0; count < most_at_once; ++count) {
        frames::SocketAddress peer;
        peer.bytes = sizeof peer.storage;
        const int descriptor = ::accept4(listener.acceptor.native_handle(), peer.get(), &peer.bytes,
                                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return;
            break;
        }
        enter_({Descriptor(descriptor), listener.protocol, frames::host_of(peer)});
    }
    wait(listener);
}

}  // namespace wq::net::catalog_server
