// TLS 1.3 as bytes in, bytes out: the caller owns the sockets. Only the .cpp includes OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

class TlsChannel;

// Common to all connections of one end.
class TlsContext {
  public:
    // Errors (bad_input): an unusable key or certificate, an unreadable CA file.
    static Result<std::shared_ptr<TlsContext>> of_manager(const TlsIdentity& identity);
    static Result<std::shared_ptr<TlsContext>> of_worker(const TlsTrust& trust);
    ~TlsContext();

    // `host`: the name that a CA-checked certificate must have; unused by a manager.
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

    // Consumes bytes from the peer and appends their plain text. False: why() has the error, and outgoing()
    // may hold an alert for the peer.
    bool take(std::string_view ciphertext, std::string& plaintext);
    bool encrypt(std::string_view plaintext);  // into outgoing(); only once established
    void end();                                // adds the closing bytes to outgoing()

    std::string outgoing();              // takes the bytes to send
    bool established() const;            // true even after a later error
    bool ended() const;                  // the peer has announced its end
    const std::string& binding() const;  // unique to this channel, 32 bytes; once established
    const std::string& why() const;

  private:
    void establish();
    std::string problem() const;
    std::unique_ptr<Handle> handle_;
};

}  // namespace wq::net::frames
