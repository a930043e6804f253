// Takes records by UDP and TCP.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/catalog/record_table.h"
#include "net/catalog_server/catalog_server.h"
#include "net/catalog_server/connection.h"
#include "net/catalog_server/guests.h"

namespace wq::net::catalog_server {

// The bytes of an update from this address.
using TakeUpdate =
    std::function<void(std::string_view bytes, const std::string& address, catalog::Protocol protocol)>;

// Datagrams. They come as fast as strangers like: of each turn they get a part, and the kernel drops the
// rest.
class DatagramReader {
  public:
    DatagramReader(boost::asio::io_context& context, std::vector<Descriptor> sockets, TakeUpdate take);
    ~DatagramReader();

  private:
    struct Buffers;
    void wait(boost::asio::ip::udp::socket& socket);
    void read(boost::asio::ip::udp::socket& socket);

    std::vector<std::unique_ptr<boost::asio::ip::udp::socket>> sockets_;
    std::unique_ptr<Buffers> buffers_;
    TakeUpdate take_;
};

// A connection that brings one update, which ends with it. Most have brought all of it when they are
// accepted: these are never waited for.
void read_update_from(Acceptor::Arrival arrival, boost::asio::io_context& context, Guests& guests,
                      const GuestLimits& limits, const TakeUpdate& take);

}  // namespace wq::net::catalog_server
