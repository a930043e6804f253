// The end of a list whose last line has no LF: somebody may be writing it just now, and half a command is no
// task. Some editors never write the last LF, so the line counts as whole once nobody has changed the list
// for a while.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace wq::shared_list::replica {

class LooseEnd {
  public:
    // The list was read at `now`. `age`: since its last change, by the master's clock; none: not known.
    void read(const std::string& identity, std::string_view list, std::optional<Duration> age, Instant now);
    // Whether somebody may still be writing the list of this identity.
    bool is_written(const std::string& identity, Instant now) const {
        return whole_at_ && identity == identity_ && now < *whole_at_;
    }
    // When its last line is whole if the list does not change; nullopt: it ends in LF.
    std::optional<Instant> whole_at() const { return whole_at_; }

  private:
    std::string identity_;
    std::optional<Instant> whole_at_;
};

// The lines that end in LF.
std::string_view whole_lines(std::string_view list);

// When the list of this identity was last changed, by the clock of its file system; nullopt: it does not say.
std::optional<WallMicros> changed_at(const std::string& identity);

// For who must not replace such a list; `name`: of the list.
Error is_being_written(const std::string& name);

}  // namespace wq::shared_list::replica
