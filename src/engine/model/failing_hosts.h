// Finds hosts where tasks fail that succeed elsewhere: a node with a broken file system fails each task
// within a second, and would drain the whole queue. Commands that are wrong themselves fail on every host and
// are often neighbours in a list. So each host is compared with the others, for tasks of the same kind that
// started while it failed, ended or still running. A host is excluded when its failures in a row are more
// than chance.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::engine::model {

// Tasks of one category that need the same kind of worker are comparable.
using AlikeId = Id<struct AlikeTag, std::uint32_t>;

class FailingHosts {
  public:
    struct Verdict {
        std::uint64_t failures = 0;   // in a row
        Duration each{0};             // their mean run time
        std::uint64_t elsewhere = 0;  // started meanwhile on other hosts, and ended or still running
        std::uint64_t failed_elsewhere = 0;
        Duration time{0};  // how long to exclude it
    };
    struct Ended {
        std::string host;
        AlikeId alike;
        Duration wall{0};  // the sum over all of them
        Instant begun;
    };
    // How many comparable tasks other hosts run that started within the time; counting stops here, since more
    // add no certainty.
    static constexpr std::uint64_t most_running = 64;
    using Running = std::function<std::uint64_t(Instant from, Instant to)>;

    void succeeded(const Ended& ended, std::uint64_t tasks);
    std::optional<Verdict> failed(const Ended& ended, Instant now, const Running& running_elsewhere);

    // It was excluded. The next exclusion will be longer, unless it does well in between.
    void note_exclusion(const std::string& host);
    // It was not excluded because no other host could run the waiting tasks; it is judged again after some
    // more failures.
    void spared(const std::string& host, AlikeId alike);
    // The user overrides the decision, or the host has left.
    void forget(const std::string& host);
    void forget_unless_bad(const std::string& host);
    void forget_all();

  private:
    // Failures in a row on one host.
    struct Row {
        std::uint64_t failures = 0;  // since it was last excluded
        double wall_us = 0;          // the sum over all of them
        Instant looked_at;           // since the first few failures
        std::uint64_t all_failures = 0;
        Instant begun;  // when the first of all started
        // On other hosts, since the row began; successes count only if the task also started since then.
        std::uint64_t succeeded = 0;
        std::uint64_t failed_before = 0;   // on any host
        std::uint64_t count_again_at = 0;  // number of failures at which the tasks running elsewhere are
                                           // counted again
        std::uint64_t judge_again_at = 0;  // number of failures, if it was spared
    };
    struct Kind {  // comparable tasks
        std::uint64_t succeeded = 0;
        std::uint64_t failed = 0;
        double wall_us = 0;               // of the successful ones
        std::map<std::string, Row> rows;  // by host
    };
    struct Host {
        std::vector<AlikeId> rows;  // oldest first
        std::uint32_t times_excluded = 0;
        std::uint32_t good = 0;  // successes since it was excluded
    };
    Kind& kind(AlikeId alike);
    Row& row(const std::string& name, AlikeId alike);

    std::vector<Kind> kinds_;                      // by AlikeId
    std::unordered_map<std::string, Host> hosts_;  // those where some task failed
};

}  // namespace wq::engine::model
