// What only an ordinary user can show: permissions and limits bind root to nothing.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace wq::test {

inline constexpr uid_t ordinary_user = 65534;

// What `act` returns for a user who owns `folder`: in a process of its own, which begins there, as the way to
// it may be root's alone. -1: it came to no end.
inline int as_ordinary_user(const std::string& folder, const std::function<int()>& act,
                            uid_t user = ordinary_user) {
    const bool root = geteuid() == 0;
    if (root && chown(folder.c_str(), user, user) != 0) return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        if (chdir(folder.c_str()) != 0 || (root && (setgid(user) != 0 || setuid(user) != 0))) abort();
        prctl(PR_SET_DUMPABLE, 1);  // else its own /proc files are root's
        _exit(act());
    }
    int status = -1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline bool for_ordinary_user(const std::string& folder, const std::function<bool()>& holds) {
    return as_ordinary_user(folder, [&] { return holds() ? 1 : 0; }) == 1;
}

}  // namespace wq::test
