// The directory of a run: made, found again and held by one run at a time. What is in it: DESIGN, "The run
// directory".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "stats/append_file.h"

namespace wq::stats {

class RunDirectory {
  public:
    enum class Use {
        fresh,            // it must not exist, or be empty
        resume,           // it must hold a journal
        resume_or_fresh,  // either
    };

    // Makes or finds the directory and holds it until destruction: flock on its file `lock`, which says who
    // has it. A file system without locks (ENOLCK, ENOSYS) is trusted. Errors: usage (exists already, or
    // nothing to resume, or no directory), interrupted (in use: the line names the holder's pid, host and
    // start; a requeued job may come before the lock of its lost node has gone, and is to come again),
    // not_allowed (not writable).
    static Result<RunDirectory> take(const std::string& path, Use use);

    // Whether a run has it now.
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

// The copy of the task list, written as the list is read: `list.part`, then `list`. Until finish() an earlier
// copy stays, since the list of a resumed run may be that copy.
class ListCopy {
  public:
    static Result<ListCopy> begin(const std::string& run_directory);
    Status append(std::string_view bytes) { return file_.append(bytes); }
    Status finish();

  private:
    explicit ListCopy(AppendFile file) : file_(std::move(file)) {}
    AppendFile file_;
};

}  // namespace wq::stats
