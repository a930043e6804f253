// Ranks take slices; the last ones are killed at a random moment. Each notes what it takes in
// FOLDER/taken.RANK. Usage: slices FOLDER SEED KILLED EPOCHS SLICES [HOW [attached]]
// HOW: exactly, most or least once, or rma: exactly once, through an MPI window. attached: the program calls
// MPI_Init itself, and MPI_Allreduce after its slices.
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "work_queue/mpi.h"
#include "work_queue/slice_queue.h"

namespace {

// Dies without a word within a millisecond, wherever it is then.
void die_soon(std::mt19937& random) {
    const timespec later{0, static_cast<long>(random() % 1'000'000)};
    std::thread([later] {
        ::ppoll(nullptr, 0, &later, nullptr);
        ::kill(::getpid(), SIGKILL);
    }).detach();
}

std::string note(const wq::Slice& slice) {
    return std::to_string(slice.epoch) + " " + slice.text() + " " + std::to_string(slice.position) + "\n";
}

int take_slices(wq::MpiSession& mpi, char** words) {
    const std::string folder = words[1];
    std::mt19937 random(static_cast<unsigned>(std::atoi(words[2]) * 100 + mpi.rank()));
    const int killed = std::atoi(words[3]);  // the last ranks
    if (killed == -4 && mpi.rank() == 1) ::kill(::getpid(), SIGKILL);
    if (killed == -5 && mpi.rank() == 1) return 7;
    const std::string file = folder + "/taken." + std::to_string(mpi.rank());
    const int taken = ::open(file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    const std::string how = words[6] == nullptr ? "exactly" : words[6];
    wq::SliceOptions options;
    options.num_epochs = std::atoi(words[4]);
    options.num_slices = std::atoi(words[5]);
    if (how == "rma") options.tickets = wq::SliceTickets::rma;
    options.seed = static_cast<std::uint64_t>(std::atoi(words[2]));
    options.delivery = how == "most"    ? wq::Delivery::at_most_once
                       : how == "least" ? wq::Delivery::at_least_once
                                        : wq::Delivery::exactly_once;
    options.records = [killed](const std::string& work) -> std::optional<std::uint64_t> {
        if (killed == -3 && work == "b") ::kill(::getpid(), SIGKILL);
        return work == "a" ? 30'000 : 10'000;
    };
    // With no epochs nobody can begin, and with works of its own the last rank cannot: then all ranks are
    // told.
    const bool differs = killed == -1 && mpi.rank() == mpi.size() - 1;
    if (killed == -6) {  // a queue of its own comes first, and rank 1 dies after it
        for (wq::SliceQueue first(mpi, {"c"}, options); first.take();) continue;
        if (mpi.rank() == 1) ::kill(::getpid(), SIGKILL);
    }
    wq::SliceQueue slices(mpi, {"a", differs ? "other" : "b"}, options);
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGTERM) == 1 || sigismember(&blocked, SIGINT) == 1) return 4;  // they are ours
    struct sigaction pipes {};
    ::sigaction(SIGPIPE, nullptr, &pipes);
    if (pipes.sa_handler != SIG_DFL) return 5;
    const bool dies = mpi.rank() >= mpi.size() - killed;
    const std::uint64_t dies_after = random() % 20;
    while (const auto slice = slices.take()) {
        if (killed == -2 && mpi.rank() == 1 && slices.taken() == 5) break;  // it leaves early
        if (dies && slices.taken() == 1 + dies_after) die_soon(random);
        const std::string line = note(*slice);
        if (::write(taken, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 3;
        for (volatile int work = static_cast<int>(random() % 60'000) * (mpi.rank() == 1 ? 4 : 1); work > 0;)
            work = work - 1;
    }
    std::printf("rank %d came to the end\n", mpi.rank());
    return 0;
}

int run(char** words) {
    wq::MpiSession mpi;
    try {
        return take_slices(mpi, words);
    } catch (const wq::SetupError& error) {
        std::printf("rank %d is told: %s\n", mpi.rank(), error.what());
        return error.exit_code();
    }
}

// What all ranks together have noted, by the program's own MPI.
int run_attached(char** words) {
    int granted = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &granted);
    int code = run(words);
    int rank = 0, bad = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&code, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) std::printf("the program's own MPI says %d\n", bad);
    MPI_Finalize();
    return bad;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) return 64;
    return argc > 7 ? run_attached(argv) : run(argv);
}
