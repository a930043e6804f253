// The contact file: how workers find and authenticate a manager. JSON with mode 0600, because it holds the
// key.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/tcp_dialer.h"

namespace wq::net::frames {

struct Contact {
    std::vector<std::string> addresses;  // numeric, in the order in which to try them
    std::uint16_t port = 0;
    std::string key;  // bytes; hex in the file. Empty: no key
    bool tls = false;
    std::string certificate_digest;  // SHA-256 in hex; empty: no TLS, or checked by a CA file
    std::string name;                // of the run; may be empty
    std::int64_t pid = 0;            // of the manager, on `host`
    std::string host;
    WallMicros started = 0;
};

std::string to_json(const Contact& contact);

// Never throws. Error (bad_input) says what is wrong with the text.
Result<Contact> parse_contact(const std::string& text);

// Writes a new file with mode 0600 beside `path`, syncs it and renames it over `path`: readers see the old or
// the new one.
Status write_contact(const std::string& path, const Contact& contact);

// Errors: unreachable: no such file (yet); not_allowed: others may read it, or somebody else owns it;
// bad_input: truncated, or no contact file. All name the file.
Result<Contact> read_contact(const std::string& path);

// 32 random bytes for a run's key, from the system.
std::string fresh_key();

// A password file, verbatim, including its newline. `warn` gets a line if others may read it. Errors:
// not_allowed: others may write it; bad_input: unreadable, empty, or larger than 64 KiB.
Result<std::string> read_password(const std::string& path,
                                  const std::function<void(const std::string&)>& warn = {});

// The options for a worker's connection; `managers`, `key` and `tls` are set.
TcpDialOptions dial_options(const Contact& contact);

// Adds what a user says of TLS: `ssl_ca` (a file) checks the certificate, `ssl` alone asks for TLS.
void add_tls(TcpDialOptions& dial, bool ssl, const std::string& ssl_ca);

}  // namespace wq::net::frames
