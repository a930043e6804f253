#include "base/find_program.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace wq {

namespace {

namespace fs = std::filesystem;

bool everybody_writes_in(const fs::path& folder) {
    std::error_code error;
    const fs::file_status found = fs::status(folder, error);
    return fs::exists(found) && (found.permissions() & fs::perms::others_write) != fs::perms::none;
}

}  // namespace

bool is_executable_file(const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_above(const std::string& folder, std::initializer_list<const char*> places,
                                      int levels, const std::function<bool(const std::string&)>& is_it) {
    fs::path above = folder;
    for (int level = 0; level < levels && !above.empty() && !everybody_writes_in(above); ++level) {
        for (const char* place : places)
            if (is_it(above / place)) return (above / place).string();
        above = above.parent_path();
    }
    return std::nullopt;
}

std::vector<std::string> program_folders(const void* inside) {
    std::vector<std::string> folders;
    std::error_code error;
    Dl_info library{};
    if (::dladdr(inside, &library) != 0 && library.dli_fname != nullptr)
        folders.push_back(fs::weakly_canonical(library.dli_fname, error).parent_path());
    folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
    const char* const path = std::getenv("PATH");
    std::istringstream names(path != nullptr ? path : "");
    for (std::string name; std::getline(names, name, ':');)
        if (name.starts_with('/')) folders.push_back(name);
    return folders;
}

Result<std::string> find_shell(const std::string& wanted) {
    if (!wanted.empty()) {
        if (::access(wanted.c_str(), X_OK) != 0)
            return Error{ExitCode::usage, wanted + " cannot be executed; give the path of a shell"};
        return std::filesystem::absolute(wanted).string();
    }
    for (const char* shell : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"})
        if (::access(shell, X_OK) == 0) return std::string(shell);
    return std::string("/bin/sh");
}

}  // namespace wq
