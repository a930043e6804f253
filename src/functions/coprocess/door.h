// Takes the connections of a coprocess' server, and returns those that begin with the secret. Others wait
// beside them for a short time, so that a peer that says nothing blocks nobody.
#pragma once

#include <list>
#include <string>

#include "base/descriptor.h"
#include "base/time.h"

namespace wq::functions::coprocess {

class Door {
  public:
    // `secret`: empty: it returns all connections.
    Door(Descriptor listener, const std::string& secret)
        : listener_(std::move(listener)), secret_(secret.empty() ? secret : secret + "\n") {}

    // The next connection, after its secret; it blocks. None: connections cannot be taken, errno says why.
    Descriptor next();
    void close();  // in a forked child

  private:
    struct Waiting {
        Descriptor connection;
        std::string said;
        Instant until;
    };
    enum class Heard { more, all, nothing_good };
    Heard listen_to(Waiting& peer) const;
    bool accept();

    Descriptor listener_;
    std::string secret_;
    std::list<Waiting> waiting_;
};

}  // namespace wq::functions::coprocess
