// The coprocess' side: a program that is a coprocess of C++ functions. message.h has the protocol.
#pragma once

#include <list>
#include <string>

#include "base/descriptor.h"
#include "base/time.h"
#include "node/process/functions.h"

namespace wq::functions::coprocess {

// Writes the greeting to stdout, and serves calls until the process is ended. Returns the exit code if it
// cannot begin, or cannot take connections any more. From then on, what functions print to stdout goes to
// stderr.
int serve(const std::string& name, const node::process::FunctionTable& functions);

struct Answered {
    std::string text;   // JSON
    std::string words;  // of the first line; see message.h
};

// The answer to a call: converts fn_args of the event to msgpack, and the result to JSON. Numbers, strings,
// booleans, null, arrays and objects convert; bytes in a result become {"bytes": [..], "subtype": null}, NaN
// and infinity become null. Functions have no names of arguments, so fn_kwargs must be empty.
Answered answer_to(const node::process::FunctionTable& functions, const std::string& function,
                   const std::string& event);

// Takes the connections of a coprocess' server, and returns those that begin with the secret. Others wait
// beside them for a short time, so that a peer that says nothing blocks nobody.
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
