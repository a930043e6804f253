// Finds and kills the processes of lines.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wq::runtask {

// The one task that runs in the foreground: what the shell, or the host that adopts orphans, has as a child
// since the task began. Services that `#!` lines started are older.
class ForegroundProcesses {
  public:
    void begin(pid_t host, pid_t shell);
    // `gently`: SIGTERM for the subshell, since a shell says aloud that a child was killed by SIGKILL.
    void kill(bool gently) const;

  private:
    std::vector<pid_t> roots() const;  // ascending

    pid_t host_ = -1;
    pid_t shell_ = -1;
    std::vector<pid_t> older_;
};

// A task in the background, and the orphans of the host that have the task's key in their environment.
void kill_background_task(pid_t host, pid_t task, const std::string& key);

// What the host adopted and is neither of these tasks nor of any other: services of `#!` lines.
void kill_services(pid_t host, const std::vector<pid_t>& tasks);

// For a subreaper whose host was killed: what that had started, all of it with this variable in its
// environment.
void kill_adopted(const char* variable, const std::string& value);

}  // namespace wq::runtask
