// A call for an interpreter to run, and what becomes of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace wq::interpreters {

struct Request {
    std::uint64_t serial = 0;              // of the launcher's order
    std::string directory;                 // empty: the launcher's
    std::vector<std::string> environment;  // "NAME=value" that differ from the launcher's; "NAME": unset
    Descriptor arguments;                  // memory with the arguments of the call
    Descriptor result;                     // memory for its result, in the form of a call's
    Descriptor out, err;
    Descriptor go;           // its process waits until it can read a byte here
    bool abandoned = false;  // its process, if there will be one, must not begin
};

// Receives what becomes of requests.
class Listener {
  public:
    virtual void interpreter_started(pid_t pid) = 0;  // a child of ours that is no task
    // A process for it waits for its go. It is, or soon will be, a child of ours, in our process group.
    virtual void call_forked(std::uint64_t serial, pid_t pid) = 0;
    // No process will begin it. `may_pass`: something is short at the moment.
    virtual void call_refused(std::uint64_t serial, std::string reason, bool may_pass) = 0;

  protected:
    ~Listener() = default;
};

}  // namespace wq::interpreters
