#include "ranks/mpi/mpi_shared_window.h"

#include <mpi.h>

#include <cstring>

#include "ranks/mpi/mpi_muted_warning.h"
#include "ranks/mpi/mpi_session.h"

namespace wq::ranks::mpi {

namespace {

constexpr std::size_t kAlignment = 128;

// Freed only by detach(), when all ranks are known to be there; otherwise the kernel frees the memory when
// the last process of the node exits.
class SharedWindow final : public Segment {
  public:
    SharedWindow(std::byte* data, std::size_t size) : data_(data), size_(size) {}
    std::byte* data() const override { return data_; }
    std::size_t size() const override { return size_; }

  private:
    std::byte* data_;
    std::size_t size_;
};

std::byte* align(void* base) {
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    return static_cast<std::byte*>(base) + (kAlignment - address % kAlignment) % kAlignment;
}

// The alignment is the same on all ranks, although each maps the memory elsewhere, because pages are.
Result<std::byte*> base_of(MPI_Win window) {
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    const int code = MPI_Win_shared_query(window, 0, &size, &unit, &base);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Win_shared_query", code);
    return align(base);
}

}  // namespace

Result<std::unique_ptr<Segment>> open_node_segment(MpiSession& session, std::size_t bytes) {
    if (session.node_size() == 1) return make_private_segment(bytes);
    const bool allocates = session.node_rank() == 0;
    if (auto all = session.agree_node(allocates ? room_in_shared_memory(bytes) : success()); !all)
        return all.error();
    const MPI_Comm node = MPI_Comm_f2c(session.node_handle());
    const MPI_Aint own = allocates ? static_cast<MPI_Aint>(bytes + kAlignment) : 0;
    MPI_Win window = MPI_WIN_NULL;
    void* mine = nullptr;
    const int code = [&] {
        const MutedWarning muted;
        return MPI_Win_allocate_shared(own, 1, MPI_INFO_NULL, node, &mine, &window);
    }();
    const Status allocated = code == MPI_SUCCESS ? success() : mpi_error("MPI_Win_allocate_shared", code);
    if (auto all = session.agree_node(allocated); !all) return all.error();
    const auto base = base_of(window);
    if (base && allocates) std::memset(*base, 0, bytes);
    // Also makes the others wait until it is zeroed.
    if (auto all = session.agree_node(base ? success() : base.error()); !all) return all.error();
    session.before_detach([window]() mutable { MPI_Win_free(&window); });
    return std::unique_ptr<Segment>(std::make_unique<SharedWindow>(*base, bytes));
}

}  // namespace wq::ranks::mpi
