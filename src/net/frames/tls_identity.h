// Whoever uses OpenSSL keeps one meanwhile, for a moment only: no fork on another thread then leaves its
// locks closed in the child. The thread's end is part of it, when OpenSSL frees what it has for the thread.
#pragma once

#include <memory>
#include <string>

#include "base/fork_gate.h"
#include "base/result.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

class TlsUse {
  public:
    TlsUse();

  private:
    NoFork held_;
};

}  // namespace wq::net::frames

// OpenSSL objects shared by the tls_*.cpp files; only they may include this.
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;
struct evp_pkey_st;
struct bio_st;

namespace wq::net::frames {

struct Free {
    void operator()(ssl_ctx_st* object) const;
    void operator()(ssl_st* object) const;
    void operator()(x509_st* object) const;
    void operator()(evp_pkey_st* object) const;
    void operator()(bio_st* object) const;
};

std::string digest_of(const x509_st* certificate);  // SHA-256, 64 hex digits
Status use_identity(ssl_ctx_st* context, const TlsIdentity& identity);

}  // namespace wq::net::frames

// Certificates: creating, reading, and their digests.

namespace wq::net::frames {

// A new key (P-256) with a self-signed certificate, in memory: for runs whose contact file has the
// certificate's digest.
Result<TlsIdentity> make_identity();

// From PEM files. Errors (bad_input) name the file: unreadable, no key or certificate, or key and certificate
// do not match.
Result<TlsIdentity> read_identity(const std::string& key_file, const std::string& certificate_file);

// SHA-256 of the first certificate, 64 hex digits. Error (bad_input): no certificate.
Result<std::string> certificate_digest(const TlsIdentity& identity);

}  // namespace wq::net::frames
