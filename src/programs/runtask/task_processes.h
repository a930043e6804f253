// Finds and kills the processes of lines.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace wq::programs::runtask {

// What a line runs. Its pids may be out of date, and belong to others: that is looked at anew at each call.
class LineProcesses {
  public:
    virtual ~LineProcesses() = default;
    virtual bool runs() const = 0;  // the line itself, not only what it left behind
    virtual void kill(bool gently) const = 0;
};

// The one line that runs in the foreground, made before it begins: what the shell, or the host that adopts
// orphans, has as a child since then. Services that `#!` lines started are older.
class ForegroundProcesses final : public LineProcesses {
  public:
    ForegroundProcesses(pid_t host, pid_t shell);
    bool runs() const override;
    // `gently`: a signal for the subshell of which its shell does not speak.
    void kill(bool gently) const override;

  private:
    std::vector<pid_t> younger(std::vector<pid_t> pids) const;

    pid_t host_;
    pid_t shell_;
    std::vector<pid_t> older_;  // ascending
};

// A line in the background, a child of the host, and the orphans of the host that have the line's key in
// their environment.
class BackgroundProcesses final : public LineProcesses {
  public:
    BackgroundProcesses(pid_t host, pid_t task, std::string key)
        : host_(host), task_(task), key_(std::move(key)) {}
    bool runs() const override;
    void kill(bool gently) const override;

  private:
    pid_t host_;
    pid_t task_;
    std::string key_;
};

// What the host adopted and is neither of these tasks nor of any other: services of `#!` lines.
void kill_services(pid_t host, const std::vector<pid_t>& tasks);

// For a subreaper whose host was killed: what that had started, all of it with this variable in its
// environment.
void kill_adopted(const char* variable, const std::string& value);

}  // namespace wq::programs::runtask
