// The folder of a factory: its scripts, logs and list of jobs. One factory at a time uses it.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::factory {

class OwnFolder {
  public:
    // Creates it, for its owner alone, if it is missing. Errors: not_allowed: it cannot be written, others
    // may write in it, or another factory uses it.
    static Result<OwnFolder> open(const std::string& path);

    const std::string& path() const { return path_; }
    // 1 to 65535, of host and path: the same for every factory in this folder, and rarely for one in another.
    std::int64_t number() const;
    // Whose ids the jobs in it are: those of `driver`, on this machine if they are processes. Error
    // not_allowed: it `has_jobs` of another.
    Status claim(const std::string& driver, bool has_jobs) const;
    // The factory's name, the same for every factory in this folder; `wanted` replaces it unless it is empty.
    // Error: the file cannot be written.
    Result<std::string> name(const std::string& wanted) const;

  private:
    explicit OwnFolder(std::string path) : path_(std::move(path)) {}

    std::string path_;
    Descriptor lock_;
};

// The scripts of batch systems that are installed with these programs.
struct Scripts {
    std::string submit;  // submits workers by the driver that is its first argument
    std::string driver;
};

// The scripts of a batch system, such as "slurm", or of a driver that is named by its path, with a '/'. They
// are in WORK_QUEUE_SCRIPTS if that is set, else in PREFIX/libexec/work_queue, or in the folder `scripts` of
// the sources in whose build folder this program is. Errors (usage): there is no such system (lists those
// that are there), or the path cannot be executed; unreachable: the scripts are not there.
Result<Scripts> find_scripts(const std::string& system);

}  // namespace wq::factory
