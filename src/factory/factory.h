// A factory: keeps as many workers in a batch system as its managers have work for. Each cycle it asks the
// managers, sometimes the batch system, decides (sizing.h), and submits or removes jobs. It has no clock and
// waits for nothing but its answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/events.h"
#include "factory/batch_system.h"
#include "factory/job_book.h"
#include "factory/settings.h"
#include "factory/sizing.h"
#include "net/frames/tcp_socket.h"
#include "net/messages/messages.h"
#include "records/journal/run_status.h"

namespace wq::factory {

// Of a manager that gives us no answer of its own, but has a record in a catalog.
struct RecordedAnswer {
    std::int64_t heard = 0;     // when the catalog server got it, s since 1970
    std::uint64_t workers = 0;  // connected; it does not say whose they are
};

struct ManagerAnswer {
    std::string manager;  // "my project (login1:9123)": the same in each cycle, and of no other manager
    Result<net::messages::StatusReport> report;
    std::optional<RecordedAnswer> by_record{};  // also without a report
    std::string project{};                      // its name; may be empty
    net::frames::HostPort at{};                 // one of its addresses
};

using Ended = records::journal::RunEnd;
struct Answers {
    std::vector<ManagerAnswer> managers;
    Ended ended = Ended::no;  // of the contact file's run
};

// The managers that the factory serves.
class Managers {
  public:
    virtual ~Managers() = default;
    // Finds the managers anew and asks each. Error: managers cannot be looked for at the moment.
    virtual Result<Answers> ask(const PoolSettings& settings) = 0;
};

struct FactoryOptions {
    std::string name;                         // of the factory: its workers have it
    std::vector<std::string> submit_options;  // that never change
    std::vector<std::string> features;        // of its workers: tasks that require others are not theirs
    std::string folder;                       // of scripts and logs (job_book.h)
    Duration status_every = std::chrono::minutes(1);  // of the batch system, at most
    Duration first_pause = std::chrono::seconds(30);  // after a failed submission; doubled up to the longest
    Duration longest_pause = std::chrono::minutes(15);
    Duration pause_after_failures = std::chrono::minutes(5);
    std::uint64_t seed = 0;
};

// A manager that answered, this time or lately.
struct ServedManager {
    std::string project;
    net::frames::HostPort at;
    std::uint64_t ready = 0;
    std::uint64_t on_workers = 0;
    std::uint64_t done = 0;
    std::uint64_t workers = 0;
};

// What a cycle saw and did.
struct CycleReport {
    WallMicros time = 0;
    std::uint64_t managers = 0;    // that answered, this time or lately
    std::uint64_t unanswered = 0;  // this time
    std::uint64_t by_record = 0;   // of `managers`: known by their catalog records
    std::int64_t oldest_record_s = 0;
    Ended ended = Ended::no;
    // The last answer, if none came this time; 0: one came, or there is no manager.
    WallMicros silent_since = 0;
    std::uint64_t ready = 0;
    std::uint64_t on_workers = 0;
    std::uint64_t unfit = 0;  // waiting, but too large for workers of this size, or require other features
    Supply supply;
    Decision decision;
    std::int64_t submitted = 0;
    std::int64_t removed = 0;
    std::string pending_why;  // the most frequent reason why a job waits, in the system's words; may be empty
    std::vector<ServedManager> served;
    std::string held;  // why nothing is submitted although workers are missing; empty: no reason
};
std::string text_of(const CycleReport& report);
std::string json_of(const CycleReport& report);  // share/doc/cluster.md lists the keys

// What the factory tells catalogs: a record of CCTools' kind, "wq_factory". `number`: above 0, another one
// for each factory of this host, and the same if the factory is started again.
std::string record_of(const CycleReport& report, const PoolSettings& settings, const std::string& factory,
                      std::int64_t number);

// Options of the submit command for workers of this factory.
std::vector<std::string> submit_options(const PoolSettings& settings, const std::string& factory);

std::optional<CycleReport> report_in(const std::string& line);  // of json_of(); nullopt: another line

class Factory {
  public:
    Factory(FactoryOptions options, PoolSettings settings, Managers& managers, BatchSystem& batch,
            JobBook& book, engine::model::Now now);

    // A submission that was refused is tried again at once: the new settings may be right.
    void set(const PoolSettings& settings) {
        settings_ = settings, submits_again_ = {}, failed_submissions_ = 0;
    }
    CycleReport cycle(engine::model::Now now);
    // No manager had a task for the factory timeout.
    bool timed_out(Instant now) const;
    // Removes all jobs. Error: some may be left; call it again.
    Status end();

    // Lines for the user about what went wrong.
    std::function<void(const std::string&)> say = [](const std::string&) {};

  private:
    struct Known {
        net::messages::StatusReport report;
        engine::model::Now at;
        std::uint64_t unnamed_workers = 0;  // connected, perhaps ours
        std::string project{};
        net::frames::HostPort address{};
    };
    void look_at_managers(CycleReport& report, engine::model::Now now);
    static ServedManager served(const Known& known);
    void look_at_jobs(Instant now);
    void settle_doubts(Instant now);
    void give_up(const std::string& name);
    void note_end(const std::string& id, const BatchJob& job, const std::string& how);
    void count_workers(CycleReport& report);
    std::vector<Demand> demand(CycleReport& report) const;
    std::int64_t unnamed_workers(const Known& known) const;
    PoolLimits limits() const;
    void act(CycleReport& report, Instant now);
    void wait_for_next_run(CycleReport& report);
    void submit(CycleReport& report, std::int64_t count, Instant now);
    void remove(CycleReport& report, std::int64_t count);
    Status remove_jobs(const std::vector<std::string>& ids);
    std::string fresh_name();
    Submission named(const std::string& name, std::int64_t count) const;
    void complain(const Status& status);

    FactoryOptions options_;
    PoolSettings settings_;
    Managers& managers_;
    BatchSystem& batch_;
    JobBook& book_;
    std::mt19937_64 random_;
    std::map<std::string, Known> known_;  // by manager
    bool all_answered_ = false;
    Instant next_status_;
    Instant submits_again_;  // after failures
    std::string held_;       // the failure
    int failed_submissions_ = 0;
    int failed_starts_ = 0;     // in a row
    bool careful_ = false;      // after failed starts: one at a time
    std::int64_t surplus_ = 0;  // of the last cycle
    Instant had_tasks_;
};

}  // namespace wq::factory
