// Counts the words of text files on all ranks; each file is a slice.
// Usage: mpirun -n RANKS word_counts LIST OUT SLOW: a list of files, a folder for results, and the rank that
// is 4 times as slow (-1: none).
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <work_queue/mpi.h>
#include <work_queue/slice_queue.h>
#include <work_queue/slice_readers.h>

#include "diary.h"

namespace {

std::uint64_t words_in(std::string_view line) {
    std::uint64_t words = 0;
    bool in_word = false;
    for (const char c : line) {
        const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
        words += !blank && !in_word;
        in_word = !blank;
    }
    return words;
}

std::vector<std::string> lines_of(const char* path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 64;
    wq::MpiSession mpi;  // first
    const std::string out = argv[2];
    wq::SliceQueue slices(mpi, lines_of(argv[1]));
    slices.add_summary({.hdf5 = out + "/slices.h5", .interval = 0.1});
    Diary diary(out, mpi.rank(), mpi.rank() == std::atoi(argv[3]) ? 4 : 1);
    std::ofstream counts(out + "/counts." + std::to_string(mpi.rank()));
    wq::LineReader reader;
    while (const auto slice = slices.take()) {
        std::uint64_t words = 0;
        diary.note(slice->text(), [&] {
            reader.open(slices, *slice);
            for (;;) {
                const auto lines = reader.read_up_to(4096).values;
                if (lines.empty()) break;
                for (const std::string_view line : lines) words += words_in(line);
            }
        });
        counts << words << '\t' << slice->work << '\n';
    }
}
