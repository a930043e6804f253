// The mean of each row of an HDF5 dataset, on all ranks; a slice is some rows.
// Usage: mpirun -n RANKS row_means FILE.h5:/DATASET OUT SLOW: of float32; a folder for results, and the rank
// that is 4 times as slow (-1: none).
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>

#include <work_queue/mpi.h>
#include <work_queue/slice_queue.h>
#include <work_queue/slice_readers.h>

#include "diary.h"

int main(int argc, char** argv) {
    if (argc < 4) return 64;
    wq::MpiSession mpi;  // first
    const std::string out = argv[2];
    wq::SliceQueue slices(mpi, {argv[1]}, {.num_slices = 100 * mpi.size()});
    slices.add_summary({.hdf5 = out + "/slices.h5", .interval = 0.1});
    Diary diary(out, mpi.rank(), mpi.rank() == std::atoi(argv[3]) ? 4 : 1);
    std::ofstream means(out + "/means." + std::to_string(mpi.rank()));
    means.precision(12);
    wq::RowReader reader;
    while (const auto slice = slices.take()) {
        diary.note(slice->text(), [&] {
            reader.open(slices, *slice);
            for (std::uint64_t row = *slice->start; row < *slice->end;) {
                const auto rows = reader.read_up_to(64).values;
                const auto numbers = rows.as<float>();
                const std::size_t width = numbers.size() / rows.size();
                for (std::size_t n = 0; n < rows.size(); ++n, ++row) {
                    const auto own = numbers.subspan(n * width, width);
                    means << row << '\t'
                          << std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(width)
                          << '\n';
                }
            }
        });
    }
}
