// What a process is to its queue: the one that gives the slices and takes some (giving.h), a rank of its job
// (ranks.h), or a worker elsewhere (remote_worker.h).
#pragma once

#include "slices/claims/taker.h"
#include "slices/queue/pass.h"
#include "slices/queue/slice_works.h"

namespace wq::slices::queue {

class Giving;

class Member {
  public:
    virtual ~Member() = default;
    virtual const Pass& pass() const = 0;
    virtual RecordSource& records() = 0;
    virtual claims::Taker& taker() = 0;
    virtual Giving* giving() { return nullptr; }  // if it is the one
    // Its end: nothing else is called after it. Returns whether a rank was lost: then MPI cannot be
    // finalized.
    virtual bool leave() { return taker().lost_some() || taker().failure(); }
};

}  // namespace wq::slices::queue
