// OpenSSL objects shared by the tls_*.cpp files; only they may include this.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/frames/tcp_options.h"

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
