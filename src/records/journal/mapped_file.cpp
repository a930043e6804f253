#include "records/journal/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "records/journal/append_file.h"

namespace wq::records::journal {

Result<MappedFile> MappedFile::open(const std::string& path) {
    const auto refused = [&](int error_number) {
        return Error{ExitCode::bad_input,
                     "cannot read " + path + ": " + std::generic_category().message(error_number)};
    };
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return refused(errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return refused(errno);
    if (S_ISDIR(status.st_mode)) return refused(EISDIR);
    if (!S_ISREG(status.st_mode)) return not_regular(path, ExitCode::bad_input);
    auto mapped = of(fd.get());
    return mapped ? std::move(mapped) : refused(errno);
}

Result<MappedFile> MappedFile::of(int file) {
    struct stat status {};
    if (::fstat(file, &status) != 0) return write_error("a file", errno);
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return MappedFile(std::string_view());
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) return write_error("a file", errno);
    return MappedFile(std::string_view(static_cast<const char*>(address), size));
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace wq::records::journal
