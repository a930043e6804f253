// Host names of addresses, from the system's resolver. The resolver may be slow, so a thread of its own asks
// it, and nobody waits.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"

namespace wq::net::catalog_server {

class HostNames {
  public:
    // `found` is called on that thread: an address, and its name.
    using Found = std::function<void(const std::string& address, const std::string& name)>;
    explicit HostNames(Found found);
    ~HostNames();  // an answer that comes later is dropped

    // Empty: none, or not known yet; then it is asked for, unless too many are.
    std::string name_of(const std::string& address, Instant now);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace wq::net::catalog_server
