#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <string_view>

#include "records/append_file.h"
#include "stats/h5_types.h"
#include "stats/stats_reader.h"

namespace wq::stats {

namespace {

H5Handle open_dataset(const H5Handle& file, const Schema& schema) {
    return {H5Dopen2(file.id(), schema.name, H5P_DEFAULT), H5Dclose};
}

Error refused(const std::string& path, const std::string& why) {
    return {ExitCode::bad_input, "cannot read " + path + ": " + why};
}

constexpr std::string_view mark("\x89HDF\r\n\x1a\n", 8);

// The first bytes of the superblock, if there are so many.
std::string beginning_of(const std::string& path) {
    const records::Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string bytes(12, '\0');
    const ssize_t got = fd ? ::read(fd.get(), bytes.data(), bytes.size()) : -1;
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
}

// Whether some process has it open for writing, or was killed then: the "File Consistency Flags" of the HDF5
// file format, in superblocks of version 3.
bool is_being_written(const std::string& path) {
    const std::string bytes = beginning_of(path);
    return bytes.size() == 12 && bytes.starts_with(mark) && bytes[8] == 3 && bytes[11] != 0;
}

// Only SWMR opens a file that is being written. But a file that was closed and then truncated is found to be
// so only without it: with HDF5 1.14, what is missing reads as zeros.
H5Handle open_file(const std::string& path, const H5Handle& access, bool being_written) {
    const unsigned how = being_written ? H5F_ACC_RDONLY | H5F_ACC_SWMR_READ : H5F_ACC_RDONLY;
    return {H5Fopen(path.c_str(), how, access.id()), H5Fclose};
}

}  // namespace

bool is_hdf5(const std::string& path) {
    return beginning_of(path).starts_with(mark);
}

Result<StatsReader> StatsReader::open(const std::string& path) {
    h5_keep_quiet();
    const H5Handle access = h5_file_access();  // to close it would clear the error
    const bool being_written = is_being_written(path);
    H5Handle file = open_file(path, access, being_written);
    // Its writer may just have opened or closed it.
    if (!file.ok() && is_being_written(path) != being_written) file = open_file(path, access, !being_written);
    if (!file.ok()) return refused(path, h5_last_error());
    const H5Handle dataset = open_dataset(file, schema_of(Dataset::manager));
    if (!dataset.ok()) return refused(path, "it is no statistics file of a run (no dataset /manager)");
    return StatsReader(path, std::move(file));
}

Result<std::uint64_t> StatsReader::count_rows(Dataset which) const {
    h5_keep_quiet();
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    if (!dataset.ok()) return refused(path_, std::string("it has no dataset /") + schema_of(which).name);
    if (H5Drefresh(dataset.id()) < 0) return refused(path_, h5_last_error());
    const H5Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const hssize_t count = space.ok() ? H5Sget_simple_extent_npoints(space.id()) : -1;
    if (count < 0) return refused(path_, h5_last_error());
    return static_cast<std::uint64_t>(count);
}

Status StatsReader::read_rows(Dataset which, void* rows, std::uint64_t count) const {
    if (count == 0) return success();
    h5_keep_quiet();
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    const H5Handle type = h5_row_type(schema_of(which));
    const H5Handle file_space(dataset.ok() ? H5Dget_space(dataset.id()) : -1, H5Sclose);
    const hsize_t start = 0;
    const hsize_t length = count;
    const H5Handle memory_space(H5Screate_simple(1, &length, nullptr), H5Sclose);
    if (!type.ok() || !file_space.ok() || !memory_space.ok() ||
        H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, &start, nullptr, &length, nullptr) < 0 ||
        H5Dread(dataset.id(), type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, rows) < 0) {
        return refused(path_, h5_last_error());
    }
    return success();
}

std::string StatsReader::attribute(const std::string& name) const {
    h5_keep_quiet();
    const H5Handle attribute(H5Aopen(file_.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute.ok()) return {};
    const H5Handle type(H5Aget_type(attribute.id()), H5Tclose);
    if (!type.ok() || H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0) return {};
    std::string value(H5Tget_size(type.id()), '\0');
    if (H5Aread(attribute.id(), type.id(), value.data()) < 0) return {};
    return value.substr(0, value.find('\0'));
}

}  // namespace wq::stats
