#include "base/find_shell.h"

#include <unistd.h>

#include <filesystem>

namespace wq {

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
