// Accepts connections, a few in each turn.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/catalog_server/stream.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog_server {

class Door {
  public:
    struct Arrival {
        Descriptor socket;
        boost::asio::ip::tcp protocol;
        std::string address;
    };
    using Enter = std::function<void(Arrival)>;
    Door(boost::asio::io_context& context, frames::Listening sockets, Enter enter);
    // Accepts connections again after the system had no more descriptors. The caller repeats the call.
    void resume();
    std::uint16_t port() const { return port_; }

  private:
    struct Listener {
        boost::asio::ip::tcp::acceptor acceptor;
        boost::asio::ip::tcp protocol;
        bool waits = false;
    };
    void wait(Listener& listener);
    void accept(Listener& listener);

    Enter enter_;
    std::uint16_t port_;
    std::vector<std::unique_ptr<Listener>> listeners_;
};

Socket socket_of(boost::asio::io_context& context, Door::Arrival arrival);

// The protocol of a socket's address.
boost::asio::ip::tcp protocol_of(int descriptor);

}  // namespace wq::net::catalog_server
