#include "records/hdf5/h5_open.h"

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"
#include "records/hdf5/h5_turn.h"
#include "records/hdf5/h5_types.h"

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

}  // namespace wq::records::hdf5
