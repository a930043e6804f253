#include "records/logs/statistics_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "records/hdf5/h5_reader.h"

namespace wq::records::logs {

namespace {

// Like rename(), but never replaces a file that another manager moved there at the same moment. NFS lacks
// this, but has links.
bool rename_anew(const char* from, const char* to) {
    if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    if (::link(from, to) != 0) return false;
    if (::unlink(from) == 0) return true;
    const int why = errno;
    ::unlink(to);
    errno = why;
    return false;
}

Result<std::string> move_aside(const std::string& path) {
    for (unsigned number = 1;; ++number) {
        const std::string aside = path + "." + std::to_string(number);
        if (rename_anew(path.c_str(), aside.c_str())) return aside;
        if (errno != EEXIST)
            return Error{ExitCode::interrupted, path + " is from an earlier run and cannot be renamed to " +
                                                    aside + ": " + std::strerror(errno)};
    }
}

}  // namespace

Result<hdf5::H5Writer> new_statistics_file(const std::string& path, const hdf5::H5Attributes& attributes,
                                           const std::function<void(const std::string&)>& say) {
    struct stat there {};
    if (::stat(path.c_str(), &there) == 0 && (there.st_size > 0 || !S_ISREG(there.st_mode))) {
        if (const auto earlier = hdf5::StatsReader::open(path); !earlier)
            return Error{ExitCode::bad_input,
                         "cannot write statistics to " + path +
                             ", which is not from an earlier run: " + earlier.error().message};
        const auto aside = move_aside(path);
        if (!aside) return aside.error();
        say(path + " of an earlier run is now " + *aside);
    }
    return hdf5::H5Writer::create(path, attributes);
}

}  // namespace wq::records::logs
