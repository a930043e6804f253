// Which host fails tasks that succeed elsewhere: a node with a broken file system fails one task after the
// other within a second, and would take the whole queue. Commands that are to fail do so on every host, so
// each host is compared with the others, category by category: with what ended there while it failed, and
// with what went on running there. It is set aside when so many failures in a row are no chance any more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::core {

class HostWatch {
  public:
    struct Verdict {
        std::uint64_t failures = 0;   // in a row
        Duration each{0};             // took they, on average
        std::uint64_t elsewhere = 0;  // ended meanwhile, or went on
        std::uint64_t failed_elsewhere = 0;
        Duration time{0};  // set it aside for so long
    };

    void succeeded(const std::string& host, CategoryId category, std::uint64_t tasks, Duration all);
    // `running_elsewhere`: how many tasks of the category other hosts run now, or fewer.
    std::optional<Verdict> failed(const std::string& host, CategoryId category, Duration wall, Instant now,
                                  const std::function<std::uint64_t()>& running_elsewhere);

    // It was set aside, and will be for longer the next time, unless it does well in between.
    void set_aside(const std::string& host);
    // The user knows better, or it has gone and is not remembered.
    void forget(const std::string& host) { hosts_.erase(host); }
    void forget_unless_bad(const std::string& host);
    void forget_all() { hosts_.clear(); }

  private:
    struct Total {
        std::uint64_t succeeded = 0;
        std::uint64_t failed = 0;
        double wall_us = 0;  // of those that succeeded
    };
    // Failures of one category in a row, on one host.
    struct Row {
        CategoryId category;
        std::uint64_t failures = 0;
        double wall_us = 0;  // of all of them
        // As it was everywhere when the row had a few.
        Instant since;
        Total before;
        std::uint64_t running_elsewhere = 0;
    };
    struct Host {
        std::vector<Row> rows;
        std::uint32_t times_aside = 0;
        std::uint32_t good = 0;  // succeeded since it was set aside
    };
    Total& total(CategoryId category);
    Row& row(Host& host, CategoryId category);
    static Duration time_aside(std::uint32_t times_before);

    std::vector<Total> totals_;                    // by CategoryId
    std::unordered_map<std::string, Host> hosts_;  // of which some task failed
};

}  // namespace wq::core
