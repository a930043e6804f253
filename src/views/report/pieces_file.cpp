#include "views/report/pieces_file.h"

#include <unistd.h>

#include <cstddef>

#include "records/journal/append_file.h"

namespace wq::views::report {

Status write_in_pieces(const std::string& path, const NextPiece& next) {
    constexpr std::size_t enough = std::size_t{1} << 20;
    const std::string part = path + ".part";
    auto file = records::journal::AppendFile::open(part, 0);
    if (!file) return file.error();
    Status written = success();
    std::string text;
    for (bool more = true; more && written;) {
        text.clear();
        while (more && text.size() < enough) more = next(text);
        written = file->append(text);
    }
    if (written) written = file->rename(path, records::journal::Sync::never);
    if (!written) ::unlink(part.c_str());
    return written;
}

}  // namespace wq::views::report
