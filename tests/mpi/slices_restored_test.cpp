// Ranks take slices and commit them by hand; rank 0 saves again and again. Any of them, or all, may be
// killed. In FOLDER, each notes what it takes in taken.RUN.RANK and what it has committed in
// committed.RUN.RANK. Rank 0 notes in `known` what the checkpoint must contain: what the one before must, and
// all commits that its run had noted before it was written.
// Usage: slices_restored FOLDER RUN SLOW DOOMED: the ranks that are slow, and will be killed; -1: none. With
// FOLDER alone: prints what is left after the checkpoint.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "work_queue/mpi.h"
#include "work_queue/slice_queue.h"

namespace {

namespace fs = std::filesystem;

wq::SliceOptions options_in(const std::string& folder) {
    wq::SliceOptions options;
    options.num_epochs = 3;
    options.num_slices = 300;
    options.records = [](const std::string&) { return 3000; };
    options.commit_by_hand = true;
    if (fs::exists(folder + "/checkpoint.h5")) options.restore = folder + "/checkpoint.h5";
    return options;
}

class Notes {
  public:
    explicit Notes(const std::string& path)
        : file_(::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)) {}
    void add(std::uint64_t position) const {
        const std::string line = std::to_string(position) + "\n";
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    }

  private:
    int file_;
};

std::string lines_of(const fs::path& path) {
    std::ifstream file(path);
    const std::string noted((std::istreambuf_iterator<char>(file)), {});
    return noted.substr(0, noted.rfind('\n') + 1);
}

// What an earlier run had committed and not saved may be lost with it, and so may be what a rank that is
// killed has committed and not told.
std::string must_be_saved(const std::string& folder, const std::string& run, const std::string& doomed) {
    std::string all = lines_of(folder + "/known");
    const std::string notes = "committed." + run + ".";
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(notes) && name != notes + doomed) all += lines_of(entry.path());
    }
    return all;
}

void save(wq::SliceQueue& slices, const std::string& folder, const std::string& run,
          const std::string& doomed) {
    std::ofstream(folder + "/next") << must_be_saved(folder, run, doomed);
    slices.save(folder + "/checkpoint.h5");
    fs::rename(folder + "/next", folder + "/known");
}

void take_slices(wq::MpiSession& mpi, const std::string& folder, const std::string& run, int slow,
                 const std::string& doomed) {
    wq::SliceQueue slices(mpi, {"a", "b"}, options_in(folder));
    const std::string suffix = "." + run + "." + std::to_string(mpi.rank());
    const Notes taken(folder + "/taken" + suffix);
    const Notes committed(folder + "/committed" + suffix);
    std::mt19937 random(std::random_device{}());
    while (const auto slice = slices.take()) {
        taken.add(slice->position);
        for (volatile int work = static_cast<int>(random() % 2'000'000) * (mpi.rank() == slow ? 4 : 1);
             work > 0;)
            work = work - 1;
        if (slices.commit(*slice)) committed.add(slice->position);
        if (mpi.rank() == 0 && random() % 16 == 0) save(slices, folder, run, doomed);
    }
    if (mpi.rank() == 0) save(slices, folder, run, doomed);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2) {
        wq::SliceQueue rest({"a", "b"}, options_in(argv[1]));
        for (const wq::Slice& slice : rest.input_dataset()) {
            std::printf("%llu\n", static_cast<unsigned long long>(slice.position));
            rest.commit(slice);
        }
        return 0;
    }
    if (argc < 5) return 64;
    wq::MpiSession mpi;
    take_slices(mpi, argv[1], argv[2], std::atoi(argv[3]), argv[4]);
    std::printf("rank %d came to the end\n", mpi.rank());
    return 0;
}
