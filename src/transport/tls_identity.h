// Certificates: made, read, and told apart.
#pragma once

#include <string>

#include "base/result.h"
#include "transport/tcp_options.h"

namespace wq::transport {

// A fresh key (P-256) with a certificate signed by itself, in memory: for runs whose contact file carries the
// certificate's print.
Result<TlsIdentity> make_identity();

// From PEM files. Errors (bad_input) name the file: unreadable, no key or certificate, or of different pairs.
Result<TlsIdentity> read_identity(const std::string& key_file, const std::string& certificate_file);

// SHA-256 of the first certificate, 64 hex digits. Error (bad_input): no certificate.
Result<std::string> certificate_print(const TlsIdentity& identity);

}  // namespace wq::transport
