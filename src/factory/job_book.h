// The jobs that a factory has submitted, in memory and in a file, so that the next factory in this folder
// knows them whatever ended this one: a submission is noted before and after it is made.
//
// The file has a line an event: "intend NAME COUNT", "made NAME ID...", "gone NAME" (it came to nothing),
// "ended ID".
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "factory/batch_system.h"
#include "records/journal/append_file.h"

namespace wq::factory {

struct BatchJob {
    std::string submission;
    Instant since{};  // submitted, or found in the file
    JobState state = JobState::pending;
    std::string why;         // it is pending; may be empty
    bool joined = false;     // its worker was connected
    bool present = false;    // it is now
    bool inherited = false;  // from an earlier factory
};

// A submission that may have come through.
struct Doubt {
    std::int64_t count = 0;
    Instant
        settled_from{};  // its command is over then: what the system does not know will not appear any more
};

struct JobCounts {
    std::int64_t pending = 0;   // those of submissions in doubt included
    std::int64_t starting = 0;  // running, and no worker connected, not yet or not any more
    std::int64_t running = 0;   // all that run
};

class JobBook {
  public:
    // `longest_call`: within which a submission is over and its jobs are listed; that of an earlier factory
    // may go on without it. Error not_allowed, interrupted or bad_input: the file cannot be used. A last line
    // that is not whole is dropped.
    static Result<JobBook> open(const std::string& path, Duration longest_call, Instant now);

    // ---- submissions; errors: the file cannot be written ----
    Status intend(const std::string& name, std::int64_t count, Instant now);
    Status made(const std::string& name, const std::vector<std::string>& ids, Instant now);
    Status gone(const std::string& name);
    // Intended, and neither made nor gone: the system must be asked.
    const std::map<std::string, Doubt>& doubtful() const { return doubtful_; }

    // ---- jobs ----
    void set_state(const std::string& id, JobState state, const std::string& detail);
    // The most frequent reason why one is pending.
    std::string why_pending() const;
    // The jobs whose workers are connected. Returns how many of them are connected for the first time.
    std::int64_t set_present(const std::set<std::string>& ids);
    Status ended(const std::vector<std::string>& ids);
    const std::map<std::string, BatchJob>& jobs() const { return jobs_; }
    std::vector<std::string> ids() const;
    std::vector<std::string> newest_pending(std::int64_t most) const;
    JobCounts counts() const;

  private:
    JobBook() = default;
    void replay(const std::string& line, Instant now);
    void forget(const std::vector<std::string>& ids);
    Status write(const std::string& line);
    Status rewrite(const std::string& path);

    records::journal::AppendFile file_;
    Duration longest_call_{0};
    std::map<std::string, Doubt> doubtful_;
    std::map<std::string, BatchJob> jobs_;
    std::vector<std::string> order_;  // ids, as submitted
};

// The log of a worker's job.

// SCRIPT.ID.log; PBS cuts the server off its ids there.
std::string log_of(const std::string& script, const std::string& id);

// Whether it says that the worker reached a manager. False if it cannot be read.
bool joined_by_its_log(const std::string& path);

// Its last lines that are not empty, shortened; none if it cannot be read.
std::vector<std::string> tail_of(const std::string& path, std::size_t most = 5);

}  // namespace wq::factory
