// What the parts of a manager may use of it: the core's state, a receiver for their events, and messages to
// the user.
#pragma once

#include <string>

#include "engine/model/events.h"
#include "engine/policies/reactor.h"

namespace wq::manager {

class Router {
  public:
    virtual const engine::policies::Reactor& reactor() const = 0;
    virtual engine::model::ManagerStats stats() const = 0;
    virtual bool run_is_over() const = 0;  // the core has finished: only goodbyes follow
    virtual void react(const engine::model::Event& event, engine::model::Now now) = 0;
    virtual void print_line(const std::string& line) = 0;

  protected:
    ~Router() = default;
};

}  // namespace wq::manager
