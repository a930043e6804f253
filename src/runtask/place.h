// Where a task list is, as users write it.
#pragma once

#include <string>
#include <string_view>

namespace wq::runtask {

struct Place {
    std::string host;  // "HOST" or "USER@HOST", for ssh; empty: this machine
    std::string path;
    bool operator==(const Place&) const = default;
};

// "FILE", "HOST:FILE", "USER@HOST:FILE", "[IPV6]:FILE". A ':' after a '/' is part of the file's name. `host`:
// of a FILE without one.
Place parse_place(std::string_view text, std::string_view host);

std::string to_text(const Place& place);

}  // namespace wq::runtask
