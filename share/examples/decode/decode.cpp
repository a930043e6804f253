// Reads compressed images from HDF5, decodes them in worker processes, and says where the time went.
//
//   decode [IMAGES [WORKERS [FILE.h5]]]     (4000 images, 2 workers, decode.h5, which it makes)
//
// A producer claims slices of the dataset, the main process reads their rows; workers inflate them and make
// floats of them; the main process consumes these. Arrays go through shared memory, without copies.
#include <hdf5.h>
#include <zlib.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <work_queue/job_executor.h>
#include <work_queue/slice_queue.h>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t pixels = 96 * 96 * 3;  // of an image, a byte each
constexpr std::size_t row_bytes = 16384;     // an image deflated, and zeros

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "decode: %s\n", what.c_str());
    std::exit(1);
}

// ---- input: one row an image, and how many bytes of it count ----

std::vector<unsigned char> image(std::size_t number) {
    std::vector<unsigned char> bytes(pixels);
    for (std::size_t at = 0; at < pixels; ++at)
        bytes[at] = static_cast<unsigned char>(
            128 + 100 * std::sin(static_cast<double>(at * (1 + number % 7)) / 500));
    return bytes;
}

template <class T>
void write_rows(hid_t file, const char* name, hid_t type, std::vector<hsize_t> shape,
                const std::vector<T>& values) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) fail("cannot write the input");
    H5Dclose(set);
    H5Sclose(space);
}

void make_input(const std::string& path, std::size_t images) {
    std::vector<unsigned char> rows(images * row_bytes);
    std::vector<std::uint32_t> sizes(images);
    for (std::size_t number = 0; number < images; ++number) {
        uLongf size = row_bytes;
        const std::vector<unsigned char> bytes = image(number);
        if (compress(&rows[number * row_bytes], &size, bytes.data(), pixels) != Z_OK)
            fail("an image is too large");
        sizes[number] = static_cast<std::uint32_t>(size);
    }
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) fail("cannot make " + path);
    write_rows(file, "images", H5T_NATIVE_UCHAR, {images, row_bytes}, rows);
    write_rows(file, "sizes", H5T_NATIVE_UINT32, {images}, sizes);
    H5Fclose(file);
}

class Input {
  public:
    explicit Input(const std::string& path) : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
        if (file_ < 0) fail("cannot open " + path);
    }
    ~Input() { H5Fclose(file_); }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    // Straight into shared memory.
    wq::Batch read(std::size_t first, std::size_t end) const {
        wq::Batch batch;
        batch.set("images", wq::Array::of<unsigned char>({end - first, row_bytes}));
        batch.set("sizes", wq::Array::of<std::uint32_t>({end - first}));
        read_rows("images", H5T_NATIVE_UCHAR, {first, 0}, batch.array("images"));
        read_rows("sizes", H5T_NATIVE_UINT32, {first}, batch.array("sizes"));
        return batch;
    }

  private:
    void read_rows(const char* name, hid_t type, std::vector<hsize_t> start, wq::Array& to) const {
        const std::vector<hsize_t> shape(to.shape().begin(), to.shape().end());
        const hid_t set = H5Dopen2(file_, name, H5P_DEFAULT);
        const hid_t rows = H5Dget_space(set);
        const hid_t memory = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
        H5Sselect_hyperslab(rows, H5S_SELECT_SET, start.data(), nullptr, shape.data(), nullptr);
        if (H5Dread(set, type, memory, rows, H5P_DEFAULT, to.mutable_bytes().data()) < 0)
            fail("cannot read rows");
        H5Sclose(memory);
        H5Sclose(rows);
        H5Dclose(set);
    }

    hid_t file_;
};

// ---- what workers do ----

wq::Batch decode(wq::Batch batch) {
    const wq::Array& images = batch.array("images");
    const auto sizes = batch.array("sizes").values<std::uint32_t>();
    wq::Array floats = wq::Array::of<float>({sizes.size(), 96, 96, 3});
    float* to = floats.mutable_values<float>().data();
    std::vector<unsigned char> bytes(pixels);
    for (std::size_t number = 0; number < sizes.size(); ++number, to += pixels) {
        uLongf size = pixels;
        const unsigned char* const row = images.values<unsigned char>().data() + number * row_bytes;
        if (uncompress(bytes.data(), &size, row, sizes[number]) != Z_OK || size != pixels)
            throw std::runtime_error("image " + std::to_string(number) + " of the batch is damaged");
        for (std::size_t at = 0; at < pixels; ++at)
            to[at] = (static_cast<float>(bytes[at]) - 127.5F) / 127.5F;
    }
    wq::Batch out;
    out.set("images", std::move(floats));
    return out;
}

// ---- the program ----

struct Times {
    Seconds reading{};    // rows from the file
    Seconds waiting{};    // for results
    Seconds consuming{};  // results
    Seconds working{};    // in workers, all together
    Seconds queued{};     // jobs, until their worker began
    Seconds returned{};   // results, until they were in the main process
    std::size_t images = 0;
    double sum = 0;
};

template <class Work>
auto timed(Seconds& total, Work&& work) {
    const auto began = Clock::now();
    auto result = work();
    total += Clock::now() - began;
    return result;
}

void consume(const wq::JobResult<>& result, Times& times) {
    if (!result) fail(result.error);
    const wq::JobMetadata& job = result.metadata;
    times.working += job.processed - job.begun;
    times.queued += job.begun - job.created;
    times.returned += job.collected - job.processed;
    const auto values = result.value->array("images").values<float>();
    times.sum += timed(times.consuming, [&] {
        double sum = 0;
        for (const float value : values) sum += value;
        return sum;
    });
    times.images += values.size() / pixels;
}

void row(const char* what, Seconds time, Seconds all) {
    std::printf("  %-30s %10.6f s  %5.1f %%\n", what, time.count(), 100 * time / all);
}

}  // namespace

int main(int words, char** word) {
    const std::size_t images = words > 1 ? std::strtoull(word[1], nullptr, 10) : 4000;
    const int workers = words > 2 ? std::atoi(word[2]) : 2;
    const std::string path = words > 3 ? word[3] : "decode.h5";
    try {
        wq::JobExecutor executor(decode, workers);  // before anything that starts threads
        make_input(path, images);
        wq::SliceQueue slices({path + ":/images"},
                              {.num_slices = static_cast<std::int64_t>(images + 31) / 32});
        const Input input(path);
        executor.start();

        Times times;
        const auto began = Clock::now();
        const auto take = [&] { return timed(times.waiting, [&] { return executor.take(); }); };
        wq::SliceProducer claimed = slices.input_producer(2);
        while (const auto slice = claimed.next()) {
            wq::Batch batch = timed(times.reading, [&] { return input.read(*slice->start, *slice->end); });
            while (!executor.put(std::move(batch)))
                if (const auto result = take()) consume(*result, times);
        }
        while (const auto result = take()) consume(*result, times);
        const Seconds all = Clock::now() - began;

        std::printf("%zu images in %.3f s: %.0f a second, mean %.4f\n", times.images, all.count(),
                    static_cast<double>(times.images) / all.count(),
                    times.sum / static_cast<double>(times.images * pixels));
        std::printf("the main process\n");
        row("read rows", times.reading, all);
        row("waited for results", times.waiting, all);
        row("consumed", times.consuming, all);
        row("the rest (put, claims)", all - times.reading - times.waiting - times.consuming, all);
        std::printf("%d workers\n", workers);
        row("decoded, each", times.working / std::max(workers, 1), all);
        std::printf("a job\n");
        const double jobs = static_cast<double>(slices.size());
        row("waited for its worker, mean", times.queued / jobs, all);
        row("came back, mean", times.returned / jobs, all);
        return times.images == images ? 0 : 1;
    } catch (const std::exception& error) {
        fail(error.what());
    }
}
