// Ranks count the lines of text files together, and read their slices. Rank 1 gives up after three slices,
// but keeps its SliceQueue until rank 0 is through: what it had claimed and not consumed, and what it had not
// finished, is read by others. Usage: slice_readers FOLDER, with the files a and b, and the pipe `through`.
#include <cstdio>
#include <fstream>
#include <string>

#include "work_queue/mpi.h"
#include "work_queue/slice_readers.h"

namespace {

void read_lines(wq::MpiSession& mpi, const std::string& folder) {
    wq::SliceOptions options;
    options.num_slices = 60;
    options.lines = true;
    wq::SliceQueue slices(mpi, {folder + "/a", folder + "/b"}, options);
    std::ofstream out(folder + "/lines." + std::to_string(mpi.rank()), std::ios::binary);
    const bool gives_up = mpi.rank() == 1;
    {
        wq::SliceProducer producer = slices.input_producer(5);
        wq::LineReader reader;
        std::string unfinished;  // lines of the slice that is read
        for (int count = 0; !gives_up || count < 3; ++count) {
            const auto [keys, values] = reader.read_up_to(producer, 1'000'000);
            out << unfinished;
            unfinished.clear();
            if (values.empty()) break;
            for (const std::string_view line : values) (unfinished += line) += '\n';
        }
    }
    if (gives_up) std::ifstream(folder + "/through").get();
    if (mpi.rank() == 0) std::ofstream(folder + "/through").put('.');
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 64;
    wq::MpiSession mpi;
    try {
        read_lines(mpi, argv[1]);
    } catch (const wq::SetupError& error) {
        std::printf("rank %d is told: %s\n", mpi.rank(), error.what());
        return error.exit_code();
    }
}
