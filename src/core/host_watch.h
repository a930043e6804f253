// Which host fails tasks that succeed elsewhere: a node with a broken file system fails one task after the
// other within a second, and would take the whole queue. Commands that are to fail do so on every host, and
// often stand side by side in a list: so each host is compared with the others, like with like, and by what
// began there while it failed, whether that has ended or goes on running. It is set aside when so many
// failures in a row are no chance any more.
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

namespace wq::core {

// Tasks of one category that need the same kind of worker: these can be compared.
using AlikeId = Id<struct AlikeTag, std::uint32_t>;

class HostWatch {
  public:
    struct Verdict {
        std::uint64_t failures = 0;   // in a row
        Duration each{0};             // took they, on average
        std::uint64_t elsewhere = 0;  // began meanwhile, and ended or went on
        std::uint64_t failed_elsewhere = 0;
        Duration time{0};  // set it aside for so long
    };
    struct Ended {
        std::string host;
        AlikeId alike;
        Duration wall{0};  // of all of them
        Instant begun;
    };
    // How many of these tasks other hosts run, or fewer, that began within the time. More than so many make
    // nobody surer.
    static constexpr std::uint64_t most_running = 64;
    using Running = std::function<std::uint64_t(Instant from, Instant to)>;

    void succeeded(const Ended& ended, std::uint64_t tasks);
    std::optional<Verdict> failed(const Ended& ended, Instant now, const Running& running_elsewhere);

    // It was set aside, and will be for longer the next time, unless it does well in between.
    void set_aside(const std::string& host);
    // It was not, as nobody else could do what waits: it is judged again when it has failed some more.
    void spared(const std::string& host, AlikeId alike);
    // The user knows better, or it has gone and is not remembered.
    void forget(const std::string& host);
    void forget_unless_bad(const std::string& host);
    void forget_all();

  private:
    // Failures in a row on one host.
    struct Row {
        std::uint64_t failures = 0;  // since it was last set aside
        double wall_us = 0;          // of all of them
        Instant looked_at;           // since it had a few
        std::uint64_t all_failures = 0;
        Instant begun;  // the first of all
        // Elsewhere, since the row began: of those that succeeded only such as began since then, too.
        std::uint64_t succeeded = 0;
        std::uint64_t failed_before = 0;   // anywhere
        std::uint64_t count_again_at = 0;  // failures: then those that run elsewhere are counted anew
        std::uint64_t judge_again_at = 0;  // failures, where it was spared
    };
    struct Kind {  // tasks that are alike
        std::uint64_t succeeded = 0;
        std::uint64_t failed = 0;
        double wall_us = 0;               // of those that succeeded
        std::map<std::string, Row> rows;  // by host
    };
    struct Host {
        std::vector<AlikeId> rows;  // the oldest first
        std::uint32_t times_aside = 0;
        std::uint32_t good = 0;  // succeeded since it was set aside
    };
    Kind& kind(AlikeId alike);
    Row& row(const std::string& name, AlikeId alike);

    std::vector<Kind> kinds_;                      // by AlikeId
    std::unordered_map<std::string, Host> hosts_;  // of which some task failed
};

}  // namespace wq::core
