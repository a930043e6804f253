#include "slices/queue/h5_checkpoint.h"

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "records/hdf5/h5_library.h"
#include "records/journal/append_file.h"

namespace wq::slices::queue {

using records::hdf5::h5_keep_quiet;
using records::hdf5::h5_last_error;
using records::hdf5::H5Handle;
using records::hdf5::H5Turn;

namespace {

constexpr std::uint64_t format = 1;
constexpr const char* format_name = "work_queue_checkpoint";
constexpr std::string_view seal_mark = "WQCK";
constexpr const char* committed_name = "committed";

using Fields = std::array<std::pair<const char*, std::uint64_t>, 4>;

Fields fields_of(const plan::Checkpoint& checkpoint) {
    return {{{"digest", checkpoint.digest},
             {"slices", checkpoint.slices},
             {"shuffle", checkpoint.shuffle ? 1U : 0U},
             {"seed", checkpoint.seed}}};
}

std::vector<std::uint64_t> ranges_of(const IntervalSet& positions) {
    std::vector<std::uint64_t> numbers;
    positions.for_each([&](const Interval& range) {
        numbers.push_back(range.first);
        numbers.push_back(range.end);
    });
    return numbers;
}

std::string seal_of(std::string_view image) {
    std::string seal(seal_mark);
    const std::uint32_t checksum = crc32c(image);
    for (int shift = 0; shift < 32; shift += 8) seal.push_back(static_cast<char>(checksum >> shift & 0xff));
    return seal;
}

// Without it; nullopt: it does not fit.
std::optional<std::string> unsealed(std::string file) {
    constexpr std::size_t seal_bytes = seal_mark.size() + 4;
    if (file.size() < seal_bytes) return std::nullopt;
    const std::string seal = file.substr(file.size() - seal_bytes);
    file.resize(file.size() - seal_bytes);
    if (seal != seal_of(file)) return std::nullopt;
    return file;
}

// A file in memory: what comes of it is written, or was read, at once.
H5Handle in_memory() {
    H5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    constexpr std::size_t grows_by = 64 << 10;
    if (access.ok() && H5Pset_fapl_core(access.id(), grows_by, 0) < 0) return {};
    return access;
}

bool write_number(const H5Handle& file, const char* name, std::uint64_t number) {
    const H5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const H5Handle attribute(H5Acreate2(file.id(), name, H5T_STD_U64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
    return attribute.ok() && H5Awrite(attribute.id(), H5T_NATIVE_UINT64, &number) >= 0;
}

std::optional<std::uint64_t> read_number(const H5Handle& file, const char* name) {
    const H5Handle attribute(H5Aopen(file.id(), name, H5P_DEFAULT), H5Aclose);
    const H5Handle space(attribute.ok() ? H5Aget_space(attribute.id()) : -1, H5Sclose);
    std::uint64_t number = 0;
    if (!space.ok() || H5Sget_simple_extent_npoints(space.id()) != 1 ||
        H5Aread(attribute.id(), H5T_NATIVE_UINT64, &number) < 0)
        return std::nullopt;
    return number;
}

bool write_ranges(const H5Handle& file, const std::vector<std::uint64_t>& ranges) {
    if (ranges.empty()) return true;
    const std::array<hsize_t, 2> shape{ranges.size() / 2, 2};
    const H5Handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
    const H5Handle dataset(H5Dcreate2(file.id(), committed_name, H5T_STD_U64LE, space.id(), H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Dclose);
    return dataset.ok() &&
           H5Dwrite(dataset.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, ranges.data()) >= 0;
}

// As many as the file's size allows: a shape that is garbled takes no memory.
std::optional<std::vector<std::uint64_t>> read_ranges(const H5Handle& file, std::size_t file_bytes) {
    const htri_t there = H5Lexists(file.id(), committed_name, H5P_DEFAULT);
    if (there <= 0) return there == 0 ? std::optional(std::vector<std::uint64_t>()) : std::nullopt;
    const H5Handle dataset(H5Dopen2(file.id(), committed_name, H5P_DEFAULT), H5Dclose);
    const H5Handle space(dataset.ok() ? H5Dget_space(dataset.id()) : -1, H5Sclose);
    std::array<hsize_t, 2> shape{};
    if (!space.ok() || H5Sget_simple_extent_ndims(space.id()) != 2 ||
        H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr) < 0 || shape[1] != 2 ||
        shape[0] > file_bytes / (2 * sizeof(std::uint64_t)))
        return std::nullopt;
    std::vector<std::uint64_t> ranges(shape[0] * 2);
    if (H5Dread(dataset.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, ranges.data()) < 0)
        return std::nullopt;
    return ranges;
}

std::optional<std::string> image_of(const plan::Checkpoint& checkpoint) {
    const H5Handle access = in_memory();
    H5Handle file(access.ok() ? H5Fcreate(committed_name, H5F_ACC_TRUNC, H5P_DEFAULT, access.id()) : -1,
                  H5Fclose);
    const Fields fields = fields_of(checkpoint);
    const std::vector<std::uint64_t> ranges = ranges_of(checkpoint.committed);
    bool ok = file.ok() && write_number(file, format_name, format) && write_ranges(file, ranges);
    for (const auto& [name, number] : fields) ok = ok && write_number(file, name, number);
    if (!ok || H5Fflush(file.id(), H5F_SCOPE_GLOBAL) < 0) return std::nullopt;
    const ssize_t bytes = H5Fget_file_image(file.id(), nullptr, 0);
    std::string image(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, '\0');
    if (bytes <= 0 || H5Fget_file_image(file.id(), image.data(), image.size()) != bytes) return std::nullopt;
    return image;
}

H5Handle open_image(const std::string& image) {
    const H5Handle access = in_memory();
    // The library copies it: it does not change it.
    if (!access.ok() || H5Pset_file_image(access.id(), const_cast<char*>(image.data()), image.size()) < 0)
        return {};
    return {H5Fopen(committed_name, H5F_ACC_RDONLY, access.id()), H5Fclose};
}

bool are_ascending(const std::vector<std::uint64_t>& numbers) {
    for (std::size_t n = 1; n < numbers.size(); ++n)
        if (numbers[n] <= numbers[n - 1]) return false;
    return true;
}

}  // namespace

Status write_checkpoint(const std::string& path, const plan::Checkpoint& checkpoint) {
    const H5Turn turn;
    h5_keep_quiet();
    const auto image = image_of(checkpoint);
    if (!image) return Error{ExitCode::interrupted, "cannot write " + path + ": " + h5_last_error()};
    return records::journal::write_atomically(path, *image + seal_of(*image));
}

Result<plan::Checkpoint> read_checkpoint(const std::string& path) {
    const H5Turn turn;
    const auto refused = [&](const std::string& why) {
        return Error{ExitCode::bad_input, "cannot restore " + path + ": " + why};
    };
    h5_keep_quiet();
    auto sealed = records::journal::read_whole(path);
    if (!sealed) return sealed.error();
    const auto image = unsealed(std::move(*sealed));
    if (!image) return refused("it is damaged, or no checkpoint of slices");
    const H5Handle file = open_image(*image);
    if (!file.ok()) return refused(h5_last_error());
    const auto version = read_number(file, format_name);
    if (version != format) return refused("it is of a newer version of this program");
    const auto digest = read_number(file, "digest");
    const auto slices = read_number(file, "slices");
    const auto shuffle = read_number(file, "shuffle");
    const auto seed = read_number(file, "seed");
    const auto ranges = read_ranges(file, image->size());
    if (!digest || !slices || !shuffle || !seed || !ranges || !are_ascending(*ranges))
        return refused("it is damaged");
    plan::Checkpoint checkpoint{*digest, *slices, *shuffle != 0, *seed, {}};
    for (std::size_t n = 0; n < ranges->size(); n += 2)
        checkpoint.committed.insert(Interval{(*ranges)[n], (*ranges)[n + 1]});
    return checkpoint;
}

}  // namespace wq::slices::queue
