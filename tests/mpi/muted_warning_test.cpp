// What Open MPI 5 warns of when a window is made is not shown, and all else is. Any Open MPI can be made to
// say it: the calls that make windows are replaced through MPI's profiling interface.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdarg>
#include <string>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_ticket_paths.h"

namespace {

using Show = int (*)(const char*, const char*, int, va_list);

std::string shown;  // the topics

int note(const char*, const char* topic, int, va_list) {
    shown += std::string(topic) + ";";
    return 0;
}

Show& place_of_show() {
    auto* const place = static_cast<Show*>(::dlsym(RTLD_DEFAULT, "opal_show_vhelp"));
    CHECK(place != nullptr);
    return *place;
}

void say(const char* topic, ...) {
    va_list values;
    va_start(values, topic);
    place_of_show()("help-mpi-ft.txt", topic, 1, values);
    va_end(values);
}

void warn() {
    say("module:untested:failundef", "osc", "sm", "");
    say("other");
}

}  // namespace

extern "C" {
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
    warn();
    return PMPI_Win_allocate(size, unit, info, comm, base, window);
}
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
    warn();
    return PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
}
}

int main() {
    return wq::test::run_rank([](wq::ranks::mpi::GuardLink& guard) {
        const auto session = wq::test::start_rank(guard);
        const Show library = place_of_show();
        place_of_show() = note;
        CHECK(wq::ranks::mpi::open_node_segment(*session, 64).ok());
        CHECK(shown == "other;");
        CHECK(wq::ranks::mpi::CounterWindow::open(*session, 1).ok());
        CHECK(shown == "other;other;");
        warn();
        CHECK(shown == "other;other;module:untested:failundef;other;");
        place_of_show() = library;
        guard.mpi_ready(session->rank());
        CHECK(session->finish(1));
        guard.mpi_finalized();
        return 0;
    });
}
