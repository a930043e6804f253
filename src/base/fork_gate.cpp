#include "base/fork_gate.h"

#include <pthread.h>

namespace wq {

namespace {

// Many threads hold it for reading, a fork for writing. A fork that waits goes first, or it would wait for
// ever.
class Gate {
  public:
    static Gate& of_process() {
        static Gate& gate = *new Gate;
        return gate;
    }
    void enter() { pthread_rwlock_rdlock(&lock_); }
    void leave() { pthread_rwlock_unlock(&lock_); }

  private:
    Gate() {
        open();
        pthread_atfork([] { pthread_rwlock_wrlock(&of_process().lock_); }, [] { of_process().leave(); },
                       [] { of_process().open(); });
    }
    void open() {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock_, &attributes);
        pthread_rwlockattr_destroy(&attributes);
    }
    pthread_rwlock_t lock_;
};

}  // namespace

NoFork::NoFork() {
    Gate::of_process().enter();
}

NoFork::~NoFork() {
    Gate::of_process().leave();
}

}  // namespace wq
