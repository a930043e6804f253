// Watches whether results can be written. While they cannot, or too many wait, dispatching pauses; if the
// trouble lasts, the run stops and can be resumed.
#pragma once

#include <cstdint>
#include <optional>

#include "manager/router.h"
#include "records/recorder/recorder.h"

namespace wq::manager {

struct StorageLimits {
    // Above this amount of unwritten records and output, dispatching pauses until half of it is written.
    std::uint64_t most_unwritten_bytes = 512u << 20;
    // How long writing is retried before the run stops.
    Duration retry_limit = std::chrono::seconds(60);
};

class StorageWatch {
  public:
    StorageWatch(StorageLimits limits, records::recorder::Recorder& recorder, Router& router)
        : limits_(limits), recorder_(recorder), router_(router) {}

    void check_recorder(engine::model::Now now);  // the recorder's descriptor is readable
    void look_if_full(engine::model::Now now);
    // Stops the run if writing has failed for too long.
    void tick(engine::model::Now now);
    std::optional<Instant> wakeup() const;

    // Stops waiting for storage.
    void give_up() { gave_up_ = true; }
    bool gave_up() const { return gave_up_; }

  private:
    StorageLimits limits_;
    records::recorder::Recorder& recorder_;
    Router& router_;
    bool holding_ = false;  // the core was told to pause
    std::optional<Instant> trouble_since_;
    bool gave_up_ = false;
};

}  // namespace wq::manager
