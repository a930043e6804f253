#include "records/hdf5/h5_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include <hdf5.h>

#include "base/descriptor.h"

namespace wq::records::hdf5 {

namespace {

constexpr std::string_view mark("\x89HDF\r\n\x1a\n", 8);
constexpr std::size_t head_bytes = 12;

// The first bytes of the superblock; empty: it is no HDF5 file. After a user block it begins at byte 512,
// 1024, 2048, ... (HDF5 file format, "Superblock"); MATLAB's files have one of 512 bytes.
std::string superblock_of(const std::string& path) {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string bytes(head_bytes, '\0');
    constexpr std::int64_t farthest = std::int64_t{1} << 62;
    for (std::int64_t at = 0; fd.valid() && at < farthest; at = at == 0 ? 512 : at * 2) {
        if (::pread(fd.get(), bytes.data(), head_bytes, at) != static_cast<ssize_t>(head_bytes)) break;
        if (bytes.starts_with(mark)) return bytes;
    }
    return {};
}

// Whether some process has it open for writing, or was killed then: the "File Consistency Flags" of the HDF5
// file format, in superblocks of version 3.
bool is_being_written(const std::string& path) {
    const std::string bytes = superblock_of(path);
    return !bytes.empty() && bytes[8] == 3 && bytes[11] != 0;
}

// Only SWMR opens a file that is being written. But a file that was closed and then truncated is found to be
// so only without it: with HDF5 1.14, what is missing reads as zeros.
H5Opened open_file(const std::string& path, bool being_written) {
    const H5Handle access = h5_file_access();
    const unsigned how = being_written ? H5F_ACC_RDONLY | H5F_ACC_SWMR_READ : H5F_ACC_RDONLY;
    H5Opened opened;
    opened.file = {H5Fopen(path.c_str(), how, access.id()), H5Fclose};
    if (!opened.file.ok()) opened.why = h5_last_error();  // before the next call clears it
    // HDF5 locks the file (flock), and reports that it is locked by another like this.
    if (opened.why == std::strerror(EAGAIN))
        opened.why = "another program has it open for writing, and not by SWMR";
    opened.being_written = being_written;
    return opened;
}

}  // namespace

bool is_hdf5(const std::string& path) {
    return !superblock_of(path).empty();
}

H5Opened h5_open_for_reading(const std::string& path) {
    const H5Turn turn;
    h5_keep_quiet();
    const bool being_written = is_being_written(path);
    H5Opened opened = open_file(path, being_written);
    // Its writer may just have opened or closed it.
    if (!opened.file.ok() && is_being_written(path) != being_written) return open_file(path, !being_written);
    return opened;
}

namespace {

H5Handle open_dataset(const H5Handle& file, const Schema& schema) {
    return {H5Dopen2(file.id(), schema.name, H5P_DEFAULT), H5Dclose};
}

bool exists(const H5Handle& file, const Schema& schema) {
    return H5Lexists(file.id(), schema.name, H5P_DEFAULT) > 0;
}

// Not in the files of the first versions.
bool is_later(Dataset dataset) {
    return dataset >= Dataset::asks;
}

Error refused(const std::string& path, const std::string& why) {
    return {ExitCode::bad_input, "cannot read " + path + ": " + why};
}

// Why a dataset cannot be opened: `absent`, or the file is damaged.
Error no_dataset(const std::string& path, const H5Handle& file, const Schema& schema,
                 const std::string& absent) {
    const std::string why = h5_last_error();
    return refused(path,
                   H5Lexists(file.id(), schema.name, H5P_DEFAULT) == 0 ? absent : "it is damaged: " + why);
}

}  // namespace

Result<StatsReader> StatsReader::open(const std::string& path) {
    const H5Turn turn;
    H5Opened opened = h5_open_for_reading(path);
    if (!opened.file.ok()) return refused(path, opened.why);
    const Schema& manager = schema_of(Dataset::manager);
    const H5Handle dataset = open_dataset(opened.file, manager);
    if (!dataset.ok())
        return no_dataset(path, opened.file, manager,
                          "it is no statistics file of a run (no dataset /manager)");
    return StatsReader(path, std::move(opened.file));
}

Result<std::uint64_t> StatsReader::count_rows(Dataset which) const {
    const H5Turn turn;
    h5_keep_quiet();
    if (is_later(which) && !exists(file_, schema_of(which))) return std::uint64_t{0};
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    if (!dataset.ok())
        return no_dataset(path_, file_, schema_of(which),
                          std::string("it has no dataset /") + schema_of(which).name);
    if (H5Drefresh(dataset.id()) < 0) return refused(path_, h5_last_error());
    const H5Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const hssize_t count = space.ok() ? H5Sget_simple_extent_npoints(space.id()) : -1;
    hsize_t bytes = 0;
    if (count < 0 || H5Fget_filesize(file_.id(), &bytes) < 0) return refused(path_, h5_last_error());
    if (static_cast<hsize_t>(count) > bytes)
        return refused(path_, std::string("it is damaged: /") + schema_of(which).name + " claims " +
                                  std::to_string(count) + " rows, more than the file has bytes");
    return static_cast<std::uint64_t>(count);
}

bool StatsReader::has(Dataset which, const char* column) const {
    const H5Turn turn;
    h5_keep_quiet();
    if (!exists(file_, schema_of(which))) return false;
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    const H5Handle type(dataset.ok() ? H5Dget_type(dataset.id()) : -1, H5Tclose);
    return type.ok() && H5Tget_class(type.id()) == H5T_COMPOUND &&
           H5Tget_member_index(type.id(), column) >= 0;
}

Status StatsReader::read_rows(Dataset which, void* rows, std::uint64_t first, std::uint64_t count) const {
    const H5Turn turn;
    if (count == 0) return success();
    h5_keep_quiet();
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    const H5Handle type = h5_row_type(schema_of(which));
    const H5Handle file_space(dataset.ok() ? H5Dget_space(dataset.id()) : -1, H5Sclose);
    const hsize_t start = first;
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
    const H5Turn turn;
    h5_keep_quiet();
    const H5Handle attribute(H5Aopen(file_.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute.ok()) return {};
    const H5Handle type(H5Aget_type(attribute.id()), H5Tclose);
    if (!type.ok() || H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0) return {};
    std::string value(H5Tget_size(type.id()), '\0');
    if (H5Aread(attribute.id(), type.id(), value.data()) < 0) return {};
    return value.substr(0, value.find('\0'));
}

}  // namespace wq::records::hdf5
