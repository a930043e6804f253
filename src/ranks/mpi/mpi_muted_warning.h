// What Open MPI 5 says of windows when fault tolerance is enabled, not said.
#pragma once

namespace wq::ranks::mpi {

// While it lives, Open MPI does not warn that a window "is not tested for post-failure operation": it does so
// of every window, in eight lines on mpirun's stderr, and ours are made to outlive lost ranks. mpirun would
// also keep the NUL at the end of that text, which PMIx 5.0.7 sends to it (plog_stdfd.c: strlen + 1), and put
// it before the next line of any rank's stderr or of that rank's stdout. An Open MPI without such a place for
// showing texts is left alone. Not for two threads at once.
class MutedWarning {
  public:
    MutedWarning() noexcept;
    ~MutedWarning();
    MutedWarning(const MutedWarning&) = delete;
    MutedWarning& operator=(const MutedWarning&) = delete;
};

}  // namespace wq::ranks::mpi
