// Ranks take slices; the last ones are killed at a random moment. Each notes what it takes in
// FOLDER/taken.RANK. Usage: slices FOLDER SEED KILLED EPOCHS SLICES [rma]
#include <fcntl.h>
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

int take_slices(wq::MpiSession& mpi, char** words, bool rma) {
    const std::string folder = words[1];
    std::mt19937 random(static_cast<unsigned>(std::atoi(words[2]) * 100 + mpi.rank()));
    const int killed = std::atoi(words[3]);  // the last ranks
    const std::string file = folder + "/taken." + std::to_string(mpi.rank());
    const int taken = ::open(file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    wq::SliceOptions options;
    options.num_epochs = std::atoi(words[4]);
    options.num_slices = std::atoi(words[5]);
    if (rma) options.tickets = wq::SliceTickets::rma;
    options.seed = static_cast<std::uint64_t>(std::atoi(words[2]));
    options.records = [](const std::string& work) -> std::optional<std::uint64_t> {
        return work == "a" ? 30'000 : 10'000;
    };
    // With no epochs nobody can begin, and with works of its own the last rank cannot: then all ranks are
    // told.
    const bool differs = killed == -1 && mpi.rank() == mpi.size() - 1;
    wq::SliceQueue slices(mpi, {"a", differs ? "other" : "b"}, options);
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

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) return 64;
    wq::MpiSession mpi;
    try {
        return take_slices(mpi, argv, argc > 6 && std::string(argv[6]) == "rma");
    } catch (const wq::SetupError& error) {
        std::printf("rank %d is told: %s\n", mpi.rank(), error.what());
        return error.exit_code();
    }
}
