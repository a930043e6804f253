// Certificates: creating, reading, and their digests.
#pragma once

#include <string>

#include "base/result.h"
#include "net/frames/tcp_options.h"

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
