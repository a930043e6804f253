// The contact file: how workers find and trust a manager. JSON, of mode 0600, since it holds the key.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/tcp_dialer.h"

namespace wq::transport {

struct Contact {
    std::vector<std::string> addresses;  // numeric, in the order in which they should be tried
    std::uint16_t port = 0;
    std::string key;  // bytes; hex in the file. Empty: none
    bool tls = false;
    std::string certificate_print;  // SHA-256 in hex; empty: no TLS, or to be checked by a CA file
    std::string name;               // of the run; may be empty
    std::int64_t pid = 0;           // of the manager, on the machine whose name is `host`
    std::string host;
    WallMicros started = 0;
};

std::string to_json(const Contact& contact);

// Never throws. Errors (bad_input) say what is wrong with the text.
Result<Contact> parse_contact(const std::string& text);

// As a new file beside `path`, of mode 0600, synced and renamed over it: readers see the old or the new.
Status write_contact(const std::string& path, const Contact& contact);

// Errors: unreachable when there is no such file (yet); not_allowed when others may read it or it belongs to
// somebody else; bad_input when it is torn or no contact file. All name the file.
Result<Contact> read_contact(const std::string& path);

// 32 bytes for a run's key, fresh from the system.
std::string fresh_key();

// A password file, whole and verbatim, its newline included. Errors: bad_input when it cannot be read, is
// empty, or has more than 64 KiB.
Result<std::string> read_password(const std::string& path);

// What a worker dials with. `managers`, `key` and `tls` are filled in.
TcpDialOptions dial_options(const Contact& contact);

}  // namespace wq::transport
