// Sessions of a program that called MPI_Init itself. An argument names the case; without one: everything that
// works.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "work_queue/call.h"
#include "work_queue/error.h"
#include "work_queue/functions.h"
#include "work_queue/manager.h"
#include "work_queue/mpi.h"

namespace {

void check(bool holds, const char* what, int line) {
    if (holds) return;
    std::fprintf(stderr, "line %d: %s\n", line, what);
    std::abort();
}
#define CHECK(what) check(static_cast<bool>(what), #what, __LINE__)

// The program's own use of MPI, on all ranks.
void use_mpi() {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
}

wq::Functions functions() {
    wq::Functions all;
    all.add("pid", [](std::int64_t) { return static_cast<std::int64_t>(::getpid()); });
    all.add("nothing", [](std::int64_t) {});
    all.add("never", [](std::int64_t) {
        std::ofstream(std::getenv("BEGAN")) << "it has begun\n";
        ::pause();
    });
    all.add("die_at_1", [](std::int64_t) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 1) ::kill(::getpid(), SIGKILL);
    });
    return all;
}

wq::ManagerOptions over(wq::MpiSession& session) {
    wq::ManagerOptions options;
    options.listen = false;
    options.mpi = &session;
    return options;
}

wq::Task run(wq::Manager& manager, wq::Task task) {
    manager.submit(std::move(task));
    auto ended = manager.wait();
    CHECK(ended);
    return std::move(*ended);
}

// Runs commands until each rank has run some. None is a child of a rank or of mpirun's processes.
void commands(wq::Manager& manager, int ranks) {
    std::set<std::string> seen;
    while (static_cast<int>(seen.size()) < ranks) {
        for (int index = 0; index < 20; ++index)
            manager.submit(
                wq::Task("cat /proc/$PPID/comm; env | grep -c '^OMPI_COMM\\|^PMI_'; echo $WORKERID"));
        while (!manager.empty()) {
            const auto task = manager.wait();
            CHECK(task && task->ok());
            CHECK(task->output().starts_with("wq_launcher\n0\n"));
            seen.insert(task->output());
        }
    }
}

void calls(wq::Manager& manager) {
    for (const auto mode : {wq::CallMode::direct, wq::CallMode::thread})
        CHECK(run(manager, wq::Task::call("pid", std::int64_t{1}).call_mode(mode)).ok());
    const wq::Task forked = run(manager, wq::Task::call("pid", std::int64_t{1}));
    CHECK(!forked.ok());
    CHECK(forked.reason().find("CallMode::thread") != std::string::npos);
    manager.submit_range("nothing", 0, 200'000, wq::CallMode::direct);
    while (!manager.empty()) {
        const auto task = manager.wait();
        CHECK(task && task->ok());
    }
}

// A launcher that a task has killed is restarted without a fork of the rank.
void launcher_dies(wq::Manager& manager) {
    const char* const folder = std::getenv("TMPDIR");
    const std::string mark = std::string(folder != nullptr ? folder : "/tmp") + "/killed";
    const wq::Task killed =
        run(manager, wq::Task("[ -e " + mark + " ] || { : > " + mark + "; kill -9 $PPID; }; rm " + mark));
    CHECK(killed.ok());
    CHECK(killed.attempts() > 1);
}

int work(wq::MpiSession& session) {
    if (session.rank() > 0) return session.serve();
    wq::Manager manager(over(session));
    commands(manager, session.size());
    calls(manager);
    launcher_dies(manager);
    return 0;
}

void everything() {
    use_mpi();
    for (int round = 0; round < 2; ++round) {
        {
            wq::MpiSession session(functions());
            CHECK(work(session) == 0);
        }
        use_mpi();
    }
}

void refused(const char* remedy) {
    try {
        const wq::MpiSession session(functions());
    } catch (const wq::SetupError& error) {
        if (std::string(error.what()).find(remedy) != std::string::npos) return;
        std::fprintf(stderr, "%s\n", error.what());
    }
    const bool refused_with_its_remedy = false;
    CHECK(refused_with_its_remedy);
}

// The numbers that MPI uses next: the lowest free one, or the last one freed. Collective.
std::pair<std::set<MPI_Fint>, std::set<MPI_Fint>> free_numbers() {
    struct Pair {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Win window = MPI_WIN_NULL;
    };
    std::vector<Pair> pairs(32);
    std::set<MPI_Fint> comms;
    std::set<MPI_Fint> windows;
    // Ranks of another node, simulated ones as well, share no memory.
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    for (Pair& made : pairs) {
        void* memory = nullptr;
        MPI_Comm_dup(MPI_COMM_WORLD, &made.comm);
        MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, node, &memory, &made.window);
        comms.insert(MPI_Comm_c2f(made.comm));
        windows.insert(MPI_Win_c2f(made.window));
    }
    for (Pair& made : pairs) {
        MPI_Win_free(&made.window);
        MPI_Comm_free(&made.comm);
    }
    MPI_Comm_free(&node);
    return std::pair(comms, windows);
}

auto newcomers(const std::set<MPI_Fint>& before, const std::set<MPI_Fint>& after) {
    return std::count_if(after.begin(), after.end(), [&](MPI_Fint one) { return !before.contains(one); });
}

void give_back() {
    const auto before = free_numbers();
    for (int round = 0; round < 10; ++round) {
        wq::MpiSession session(functions());
        if (session.rank() > 0) {
            CHECK(session.serve() == 0);
            continue;
        }
        wq::Manager manager(over(session));
        manager.submit_range("nothing", 0, 10'000, wq::CallMode::direct);
        while (!manager.empty()) CHECK(manager.wait());
    }
    const auto after = free_numbers();
    // MPICH keeps a communicator of the first session, and frees the last one's later.
    CHECK(newcomers(before.first, after.first) < 4);
    CHECK(newcomers(before.second, after.second) == 0);
}

// A call that does not return keeps its rank, and so all others, from freeing anything; all continue.
void never_ends() {
    {
        wq::MpiSession session(functions());
        if (session.rank() > 0) {
            session.serve();
        } else {
            wq::Manager manager(over(session));
            manager.submit(wq::Task::call("never", std::int64_t{1}).call_mode(wq::CallMode::thread));
            while (!std::filesystem::exists(std::getenv("BEGAN"))) manager.wait(1);
        }
    }
    use_mpi();
    refused("one MpiSession");
}

void lost() {
    wq::MpiSession session(functions());
    if (session.rank() > 0) {
        session.serve();
        return;
    }
    wq::Manager manager(over(session));
    CHECK(run(manager, wq::Task("echo > \"$BEGAN\"")).ok());
    for (int index = 0; index < 4; ++index) manager.submit(wq::Task("exec sleep 1000").cores(1));
    for (;;) {
        manager.submit_range("die_at_1", 0, 100'000, wq::CallMode::direct);
        manager.wait();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    int granted = 0;
    if (what == "single")
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
    if (what == "single") {
        for (int again = 0; again < 2; ++again) refused("MPI_THREAD_SERIALIZED");
    } else if (what == "nowhere") {
        const std::string launcher = std::getenv("WORK_QUEUE_LAUNCHER");
        ::setenv("WORK_QUEUE_LAUNCHER", "/nowhere/work_queue_launcher", 1);
        refused("WORK_QUEUE_LAUNCHER");
        ::setenv("WORK_QUEUE_LAUNCHER", launcher.c_str(), 1);
        everything();
    } else if (what == "another") {
        ::setenv("WORK_QUEUE_LAUNCHER", "/bin/true", 1);
        refused("is it the one of this installation?");
    } else if (what == "lost") {
        lost();
    } else if (what == "give_back") {
        give_back();
    } else if (what == "never_ends") {
        never_ends();
    } else if (what != "late") {
        everything();
    }
    MPI_Finalize();
    if (what == "late") refused("before MPI_Finalize");
    return 5;
}
