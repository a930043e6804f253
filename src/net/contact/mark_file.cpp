#include "net/contact/mark_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "net/session/session_table.h"

namespace wq::net::contact {

MarkFile::MarkFile(std::string path, std::string mark) : path_(std::move(path)), mark_(std::move(mark)) {}

MarkFile::MarkFile(MarkFile&& from) noexcept
    : path_(std::exchange(from.path_, {})), mark_(std::exchange(from.mark_, {})) {}

MarkFile::~MarkFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Result<MarkFile> MarkFile::make(const std::string& folder, const std::string& run_directory) {
    std::error_code unknown;  // on an error the file goes into the folder itself
    const std::string within = std::filesystem::weakly_canonical(folder, unknown).string() + "/";
    const std::string run = std::filesystem::weakly_canonical(run_directory, unknown).string();
    const std::string token = session::random_token();
    MarkFile file(!unknown && run.starts_with(within) ? run + "/mark" : folder + "/.work_queue." + token,
                  token);
    std::ofstream out(file.path_, std::ios::trunc);
    if (out << file.mark_ << '\n' && out.flush()) return file;
    return Error{ExitCode::not_allowed, "cannot write '" + file.path_ + "'"};
}

}  // namespace wq::net::contact
