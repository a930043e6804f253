// Reads a run again and again on a thread of its own, so that keys never wait for a slow file system. The run
// is read again when its file has changed, at most once a second and for at most a tenth of the time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/background.h"
#include "base/result.h"
#include "base/time.h"
#include "views/terminal/watch.h"

namespace wq::programs::status {

using RunPicture = views::terminal::RunPicture;

// What tells that a run has changed. A manager that was killed leaves its file as it is.
struct RunVersion {
    std::int64_t modified_ns = 0;
    std::uint64_t size = 0;
    std::uint64_t inode = 0;
    bool is_live = false;
    bool operator==(const RunVersion&) const = default;
};

// A run as it is now. Errors: bad_input.
Result<std::shared_ptr<const RunPicture>> read_picture(const std::string& path);

class RunFeed {
  public:
    // `path`: a run directory or a file of one; `first`: what was read of it.
    RunFeed(std::string path, std::shared_ptr<const RunPicture> first, Duration reading);

    int descriptor() const { return background_.descriptor(); }  // readable when a look has ended
    // Looks again, if it is time. Returns whether there is something to show.
    bool step(Instant now);
    Instant wakeup() const;
    // Its thread may be blocked by a file system.
    bool is_looking() const { return looking_since_.has_value(); }

    const std::shared_ptr<const RunPicture>& picture() const { return picture_; }
    const views::terminal::Silence& silence() const { return silence_; }

  private:
    struct Look {
        std::optional<RunVersion> version;                           // nullopt: the file is gone
        Result<std::shared_ptr<const RunPicture>> picture{nullptr};  // nullptr: unchanged
        Duration took{};
    };
    static Look look(const std::string& path, const std::string& file,
                     const std::optional<RunVersion>& known);
    void begin(Instant now);
    void take(Look look);

    std::string path_;
    std::shared_ptr<const RunPicture> picture_;
    std::optional<RunVersion> version_;
    views::terminal::Silence silence_;
    Instant next_;
    std::optional<Instant> looking_since_;
    WallMicros looking_since_wall_ = 0;
    bool changed_ = false;
    BackgroundThread background_;  // ends first
};

}  // namespace wq::programs::status
