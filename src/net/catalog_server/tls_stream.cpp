#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "net/catalog_server/connection.h"

namespace wq::net::catalog_server {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class TlsStream final : public ClientStream {
  public:
    TlsStream(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}

    void read(char* bytes, std::size_t most, Done done) override {
        if (ready_) return read_some(bytes, most, std::move(done));
        stream_.async_handshake(asio::ssl::stream_base::server,
                                [this, bytes, most, done = std::move(done)](error_code error) mutable {
                                    ready_ = !error;
                                    if (error) return done(0);
                                    read_some(bytes, most, std::move(done));
                                });
    }
    void write(std::string_view bytes, Done done) override {
        asio::async_write(
            stream_, asio::buffer(bytes.data(), bytes.size()),
            [done = std::move(done)](error_code error, std::size_t count) { done(error ? 0 : count); });
    }
    void close() override {
        error_code ignored;
        stream_.next_layer().close(ignored);
    }
    void finish(Done done) override {
        stream_.async_shutdown([done = std::move(done)](error_code) { done(0); });
    }

  private:
    void read_some(char* bytes, std::size_t most, Done done) {
        stream_.async_read_some(
            asio::buffer(bytes, most),
            [done = std::move(done)](error_code error, std::size_t count) { done(error ? 0 : count); });
    }
    asio::ssl::stream<Socket> stream_;
    bool ready_ = false;
};

}  // namespace

struct TlsServer::Context {
    asio::ssl::context ssl{asio::ssl::context::tls_server};
};

Result<TlsServer> TlsServer::open(const std::string& certificate_file, const std::string& key_file) {
    TlsServer server;
    server.context_ = std::make_shared<Context>();
    asio::ssl::context& ssl = server.context_->ssl;
    ssl.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv3 |
                    asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
    error_code error;
    ssl.use_certificate_chain_file(certificate_file, error);
    if (error) return Error{ExitCode::bad_input, "--ssl-cert " + certificate_file + ": " + error.message()};
    ssl.use_private_key_file(key_file, asio::ssl::context::pem, error);
    if (error) return Error{ExitCode::bad_input, "--ssl-key " + key_file + ": " + error.message()};
    return server;
}

std::unique_ptr<ClientStream> TlsServer::make_stream(Socket socket) const {
    return std::make_unique<TlsStream>(std::move(socket), context_->ssl);
}

}  // namespace wq::net::catalog_server
