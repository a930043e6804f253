// Tasks that the user cancels. Cancelling a range of a thousand million calls costs only its pieces: the
// tasks that workers hold, and the gaps between them.
#pragma once

#include "scheduling/policy.h"

namespace wq::scheduling {

class Cancellation : Policy {
  public:
    using Policy::Policy;

    // The tasks leave their workers at once. What those still report of them is stale.
    void on(const CancelRequested& event);

  private:
    void cancel_tickets(Interval tasks);
};

}  // namespace wq::scheduling
