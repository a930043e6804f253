#include "net/catalog_server/stream.h"

#include <array>
#include <boost/asio/write.hpp>
#include <utility>

namespace wq::net::catalog_server {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class PlainStream final : public Stream {
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

std::unique_ptr<Stream> make_plain_stream(Socket socket) {
    return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace wq::net::catalog_server
