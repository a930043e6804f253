#include "net/catalog_server/door.h"

#include <sys/socket.h>

#include <cerrno>

namespace wq::net::catalog_server {

using boost::asio::ip::tcp;

tcp protocol_of(int descriptor) {
    frames::SocketAddress own;
    own.bytes = sizeof own.storage;
    ::getsockname(descriptor, own.get(), &own.bytes);
    return own.family() == AF_INET6 ? tcp::v6() : tcp::v4();
}

Socket socket_of(boost::asio::io_context& context, Door::Arrival arrival) {
    Socket socket(context);
    socket.assign(arrival.protocol, arrival.socket.release());
    return socket;
}

Door::Door(boost::asio::io_context& context, frames::Listening sockets, Enter enter)
    : enter_(std::move(enter)), port_(sockets.port) {
    for (Descriptor& descriptor : sockets.descriptors) {
        const tcp protocol = protocol_of(descriptor.get());
        listeners_.push_back(std::make_unique<Listener>(Listener{tcp::acceptor(context), protocol}));
        listeners_.back()->acceptor.assign(protocol, descriptor.release());
        wait(*listeners_.back());
    }
}

void Door::resume() {
    for (const auto& listener : listeners_)
        if (!listener->waits) wait(*listener);
}

void Door::wait(Listener& listener) {
    listener.waits = true;
    listener.acceptor.async_wait(tcp::acceptor::wait_read,
                                 [this, &listener](boost::system::error_code error) {
                                     listener.waits = false;
                                     if (!error) accept(listener);
                                 });
}

void Door::accept(Listener& listener) {
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
