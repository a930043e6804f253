// The directory of a run: created, found again, and locked by one run at a time. share/doc/running.md lists
// its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "records/journal/append_file.h"
#include "records/journal/run_status.h"

namespace wq::records::journal {

class RunDirectory {
  public:
    enum class Use {
        fresh,            // it must not exist, or be empty
        resume,           // it must hold a journal
        resume_or_fresh,  // either
    };

    // Creates or opens the directory and locks it until destruction: flock on its file `lock`, which names
    // the holder. A file system without locks (ENOLCK, ENOSYS) is trusted. Errors: usage (it exists already,
    // or nothing to resume, or no directory); interrupted (in use: the message has the holder's pid, host and
    // start; a requeued job may start before the lock of its lost node is released, and should retry);
    // not_allowed (not writable).
    static Result<RunDirectory> take(const std::string& path, Use use);

    // Whether a run holds it now.
    static bool is_taken(const std::string& path);

    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
    bool has_journal() const { return has_journal_; }

  private:
    RunDirectory(std::string path, Descriptor lock, bool has_journal)
        : path_(std::move(path)), lock_(std::move(lock)), has_journal_(has_journal) {}
    std::string path_;
    Descriptor lock_;
    bool has_journal_;
};

// Whether the run may still go on: the lock of its directory is held; or, since another host may not see the
// lock, the status is fresh and the process that wrote the status is not known to be gone.
bool may_be_live(const std::string& run_directory, const RunStatus& status);

// Copies the task list while it is read: to `list.part`, then `list`. An earlier copy stays until finish(),
// since a resumed run may read that copy.
class RunListCopy {
  public:
    static Result<RunListCopy> begin(const std::string& run_directory);
    Status append(std::string_view bytes) { return file_.append(bytes); }
    Status finish();

  private:
    explicit RunListCopy(AppendFile file) : file_(std::move(file)) {}
    AppendFile file_;
};

}  // namespace wq::records::journal
