// The master's clock: workers of a list mark it with one time.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::replica {

class MasterClock {
  public:
    Status read(store::ListStore& store);
    // Summer time may have begun.
    bool is_old() const;
    WallMicros now() const { return utc_ + since(); }
    // "MM-DD HH:MM:SS", local time there.
    std::string stamp() const;

  private:
    WallMicros since() const;

    WallMicros utc_{};
    WallMicros east_{};
    Instant read_at_{};
};

}  // namespace wq::shared_list::replica
