// Rates of reading records: lines of text, and rows of HDF5 beside a bare loop of H5Dread.
// Usage: bench_records [MIB]. Prints tab-separated: what, value, unit. Its files stay in the page cache.
#include <hdf5.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "slices/sources/h5_row_reader.h"
#include "slices/sources/line_reader.h"
#include "work_queue/slice_readers.h"

namespace {

using namespace wq;

// The best of three, because others use the machine, too.
template <class Run>
double seconds_of(Run&& run) {
    double best = std::numeric_limits<double>::max();
    for (int n = 0; n < 3; ++n) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
}

// Lines of 1 to 2 * length bytes.
void write_lines(const std::string& path, std::uint64_t bytes, std::uint64_t length) {
    std::string block;
    for (std::uint64_t n = 1; block.size() < (1u << 20); ++n)
        block.append(n * 2654435761u % (2 * length), 'x') += '\n';
    std::ofstream out(path, std::ios::binary);
    for (std::uint64_t written = 0; written < bytes; written += block.size()) out << block;
}

void bench_lines(const std::string& path, std::uint64_t bytes, std::uint64_t length) {
    write_lines(path, bytes, length);
    const auto file = slices::sources::SourceFile::open(path).or_throw();
    const double index = seconds_of([&] {
        const auto part = slices::sources::index_lines(file, {0, file.bytes()}).or_throw();
        if (part.lines == 0) std::abort();
    });
    std::uint64_t lines = 0;
    const double read = seconds_of([&] {
        auto reader =
            slices::sources::LineReader::open(slices::sources::SourceFile::open(path).or_throw()).or_throw();
        lines = 0;
        while (const std::size_t some = reader.read(1000).or_throw().size) lines += some;
    });
    const auto of = static_cast<unsigned long>(length);
    std::printf("index of lines of %lu bytes\t%.2f\tGB/s\n", of, double(file.bytes()) / index / 1e9);
    std::printf("lines of %lu bytes, read\t%.1f\tM/s\n", of, double(lines) / read / 1e6);
}

struct Shape {
    hsize_t rows;
    hsize_t columns;  // of float
    hsize_t chunk;    // rows; 0: contiguous
    bool deflate;
};

void write_rows(const std::string& path, const Shape& shape) {
    const std::vector<hsize_t> lengths{shape.rows, shape.columns};
    const std::vector<hsize_t> chunk{shape.chunk, shape.columns};
    std::vector<float> values(shape.rows * shape.columns);
    for (std::size_t n = 0; n < values.size(); ++n) values[n] = float((n * 2654435761u >> 16) % 100);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, lengths.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (shape.chunk > 0) H5Pset_chunk(creation, 2, chunk.data());
    if (shape.deflate) H5Pset_deflate(creation, 1);
    const hid_t dataset = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) std::abort();
    H5Dclose(dataset), H5Pclose(creation), H5Sclose(space), H5Fclose(file);
}

void bare_loop(const std::string& path, const Shape& shape, hsize_t slice) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    std::vector<float> values(slice * shape.columns);
    for (hsize_t row = 0; row + slice <= shape.rows; row += slice) {
        const std::vector<hsize_t> start{row, 0};
        const std::vector<hsize_t> count{slice, shape.columns};
        const hid_t memory = H5Screate_simple(2, count.data(), nullptr);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
        if (H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data()) < 0) std::abort();
        H5Sclose(memory);
    }
    H5Sclose(space), H5Dclose(dataset), H5Fclose(file);
}

void bench_rows(const std::string& path, const char* layout, const Shape& shape) {
    constexpr hsize_t slice = 100;
    write_rows(path, shape);
    const slices::sources::H5Name name{path, "/x"};
    const double bare = seconds_of([&] { bare_loop(path, shape, slice); });
    const double slices = seconds_of([&] {
        auto rows = slices::sources::H5Rows::open(name).or_throw();
        std::vector<char> bytes(slice * rows.type().row_bytes());
        for (hsize_t row = 0; row + slice <= shape.rows; row += slice)
            static_cast<void>(rows.read(row, row + slice, bytes).or_throw());
    });
    const double records = seconds_of([&] {
        auto reader =
            slices::sources::H5RowReader::open(slices::sources::H5Rows::open(name).or_throw()).or_throw();
        while (reader.read(slice).or_throw().size > 0) continue;
    });
    // As a program reads them, from 16 slices, which its queue counts and opens, too.
    const double queued = seconds_of([&] {
        SliceOptions options;
        options.num_slices = 16;
        SliceQueue queue({path + ":/x"}, options);
        SliceProducer producer = queue.input_producer(4);
        RowReader reader;
        while (!reader.read_up_to(producer, slice).values.empty()) continue;
    });
    const std::string what = std::string(layout) + " rows of " +
                             std::to_string(shape.columns * sizeof(float)) + " bytes by " +
                             std::to_string(slice);
    std::printf("%s, bare H5Dread\t%.0f\trows/s\n", what.c_str(), double(shape.rows) / bare);
    std::printf("%s, H5Rows::read\t%.2f\tof it (goal: >= 0.8)\n", what.c_str(), bare / slices);
    std::printf("%s, H5RowReader\t%.2f\tof it (goal: >= 0.8)\n", what.c_str(), bare / records);
    std::printf("%s, read_up_to of 16 slices\t%.2f\tof it (goal: >= 0.8)\n", what.c_str(), bare / queued);
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t bytes = std::strtoull(argc > 1 ? argv[1] : "64", nullptr, 10) << 20;
    std::string directory = (std::filesystem::temp_directory_path() / "wq-bench-XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr) return 1;
    for (const std::uint64_t length : {5u, 50u, 500u}) bench_lines(directory + "/lines", bytes, length);
    for (const hsize_t columns : {hsize_t{16}, hsize_t{1024}}) {
        const hsize_t rows = bytes / (columns * sizeof(float));
        const hsize_t chunk = std::max<hsize_t>((512u << 10) / (columns * sizeof(float)), 1);
        bench_rows(directory + "/x.h5", "contiguous", {rows, columns, 0, false});
        bench_rows(directory + "/x.h5", "chunked", {rows, columns, chunk, false});
        bench_rows(directory + "/x.h5", "compressed", {rows, columns, chunk, true});
    }
    const hsize_t rows = bytes / 4096;
    bench_rows(directory + "/x.h5", "compressed, in chunks of 8 MiB,",
               {rows, 1024, std::min<hsize_t>(2048, rows), true});
    std::filesystem::remove_all(directory);
}
