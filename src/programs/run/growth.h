// Adds --grow to a run: a factory that submits workers for it.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "factory/factory_process.h"
#include "programs/run/run_options.h"

namespace wq::programs::run {

// Whether a factory takes these options. Error (usage): one line.
Status check(const Grow& grow);

class Growth {
  public:
    // `contact`: the run's contact file. The factory's folder is RUN_DIR/workers. Errors: work_queue_factory
    // is not there or cannot be started.
    static Result<Growth> start(const Grow& grow, const std::string& run_directory,
                                const std::string& contact);

    // `connected`: workers, now.
    void take_reports(const std::function<void(const std::string&)>& say, std::int64_t connected);
    const std::optional<wq::factory::CycleReport>& report() const { return factory_.report(); }
    // "3 workers pending": of the batch system, for the progress line; why none is submitted. Empty: none
    // waits.
    std::string text() const;
    std::int64_t pending() const;  // workers that were submitted and have not joined
    void begin_end() const { factory_.ask_to_stop(); }
    // Waits until the workers are removed.
    void end(const std::function<void(const std::string&)>& say);

  private:
    explicit Growth(wq::factory::FactoryProcess factory) : factory_(std::move(factory)) {}

    wq::factory::FactoryProcess factory_;
    bool told_end_ = false;
    WallMicros reported_ = 0;          // when the last report was made
    std::int64_t connected_then_ = 0;  // workers, when it was read
    std::int64_t connected_ = 0;       // now
};

}  // namespace wq::programs::run
