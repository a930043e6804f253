// TLS 1.3 as bytes in, bytes out: the sockets stay with the caller. OpenSSL is seen by the .cpp only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "transport/tcp_options.h"

namespace wq::transport {

class TlsChannel;

// What all connections of one end share.
class TlsContext {
  public:
    // Errors (bad_input): a key or certificate that cannot be used, a CA file that does not read.
    static Result<std::shared_ptr<TlsContext>> of_manager(const TlsIdentity& identity);
    static Result<std::shared_ptr<TlsContext>> of_worker(const TlsTrust& trust);
    ~TlsContext();

    // `host`: what a certificate checked by a CA must name; of no use to a manager.
    std::unique_ptr<TlsChannel> channel(const std::string& host) const;

    struct Handle;

  private:
    explicit TlsContext(std::unique_ptr<Handle> handle);
    std::unique_ptr<Handle> handle_;
};

class TlsChannel {
  public:
    struct Handle;
    explicit TlsChannel(std::unique_ptr<Handle> handle);
    ~TlsChannel();

    void start();  // a worker's first bytes are then in outgoing()

    // Bytes from the peer; appends what they say. False: why() says what is wrong, and outgoing() may hold
    // the alert that tells the peer.
    bool take(std::string_view ciphertext, std::string& plaintext);
    bool put(std::string_view plaintext);  // into outgoing(); only once established
    void end();                            // the last bytes, into outgoing()

    std::string outgoing();              // takes what is to be sent
    bool established() const;            // at some time, whatever came after
    bool ended() const;                  // the peer has said that nothing more comes
    const std::string& binding() const;  // of this channel alone, 32 bytes; once established
    const std::string& why() const;

  private:
    void establish();
    std::string problem() const;
    std::unique_ptr<Handle> handle_;
};

}  // namespace wq::transport
