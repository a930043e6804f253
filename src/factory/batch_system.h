// A batch system as a factory uses it: through the driver of one (scripts/submit_workers.sh says what a
// driver does).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wq::factory {

// stuck: it is in the queue and will not run.
enum class JobState : std::uint8_t { pending, running, stuck, ended, unknown };

struct JobStatus {
    std::string id;
    JobState state = JobState::unknown;
    std::string detail;  // why it is pending, or how it ended; may be empty
};

// A request for workers.
struct Submission {
    std::string name;    // of the jobs, of their script and of their logs: unique
    std::string folder;  // of these
    std::int64_t count = 1;
    std::vector<std::string> options;  // of the *_submit_workers command
};

// Errors have one line. `unreachable`: the system or its driver refused; `interrupted`: it did not answer, so
// that a submission may have come through all the same: find() knows, later.
class BatchSystem {
  public:
    virtual ~BatchSystem() = default;

    virtual Result<std::vector<std::string>> submit(const Submission& submission) = 0;  // ids
    // Of ids that the system does not know (any more): unknown.
    virtual Result<std::vector<JobStatus>> status(const std::vector<std::string>& ids) = 0;
    virtual Status remove(const std::vector<std::string>& ids) = 0;
    // The ids of the submission's jobs that have not ended; none: there is none.
    virtual Result<std::vector<std::string>> find(const Submission& submission) = 0;
};

// Calls `driver`, and for submissions the command `submit` with it; each call ends after `limit`.
struct DriverOptions {
    std::string driver;  // path
    std::string submit;  // path of libexec/work_queue/submit_workers
    Duration limit = std::chrono::seconds(90);
    int stop = -1;  // a descriptor: once readable, no answer is waited for, but that of a submission
};
class BatchDriver final : public BatchSystem {
  public:
    explicit BatchDriver(DriverOptions options) : options_(std::move(options)) {}

    Result<std::vector<std::string>> submit(const Submission& submission) override;
    Result<std::vector<JobStatus>> status(const std::vector<std::string>& ids) override;
    Status remove(const std::vector<std::string>& ids) override;
    Result<std::vector<std::string>> find(const Submission& submission) override;
    // What submit() would submit, as text.
    Result<std::string> show(const Submission& submission);
    void wait_for_answers() { options_.stop = -1; }  // from now on

  private:
    std::vector<std::vector<std::string>> commands_with(const std::string& verb,
                                                        const std::vector<std::string>& ids) const;
    Result<std::string> call(const std::string& what, std::vector<std::string> command);

    DriverOptions options_;
};

}  // namespace wq::factory
