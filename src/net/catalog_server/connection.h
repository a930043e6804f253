// One connection as bytes, plain or in TLS.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog_server {

class ClientStream {
  public:
    // Bytes; 0: the connection is over. One reading or writing at a time; what it is given must live until
    // then.
    using Done = std::function<void(std::size_t)>;
    virtual ~ClientStream() = default;
    virtual void read(char* bytes, std::size_t most, Done done) = 0;
    virtual void write(std::string_view bytes, Done done) = 0;  // all of them
    virtual void close() = 0;                                   // what is being done ends
    // No more is written. `done` once the peer has closed, too, or `close` was called.
    virtual void finish(Done done) = 0;
};

using Socket = boost::asio::ip::tcp::socket;
std::unique_ptr<ClientStream> make_plain_stream(Socket socket);

class TlsServer {
  public:
    // Error bad_input: names the file.
    static Result<TlsServer> open(const std::string& certificate_file, const std::string& key_file);
    std::unique_ptr<ClientStream> make_stream(Socket socket) const;

  private:
    struct Context;
    std::shared_ptr<Context> context_;
};

// Accepts connections, a few in each turn.
class Acceptor {
  public:
    struct Arrival {
        Descriptor socket;
        boost::asio::ip::tcp protocol;
        std::string address;
    };
    using Enter = std::function<void(Arrival)>;
    Acceptor(boost::asio::io_context& context, frames::ListeningSockets sockets, Enter enter);
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

Socket socket_of(boost::asio::io_context& context, Acceptor::Arrival arrival);

// The protocol of a socket's address.
boost::asio::ip::tcp protocol_of(int descriptor);

}  // namespace wq::net::catalog_server
