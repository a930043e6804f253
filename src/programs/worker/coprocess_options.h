// The worker's options for coprocesses, and the start of these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "functions/coprocess/runner.h"
#include "programs/command_line.h"
#include "programs/worker/worker_resources.h"

namespace wq::programs::worker {

// The manual's spellings, such as --num_coprocesses and --coprocess_cores=4, become those of --help.
std::vector<std::string> with_one_spelling(std::vector<std::string> words);
Status take_coprocesses(const Given& given, CoprocessSettings& settings);

// Starts them, and waits until the first has named itself. `folder`: where to make their own. `launcher`:
// outlives them. `time_scale`: of back-offs, for tests. Error: they
// cannot be started, or `interrupt` was readable before.
Result<std::unique_ptr<functions::coprocess::Runner>> start_coprocesses(const CoprocessSettings& settings,
                                                                        const WorkerResources& worker,
                                                                        const std::string& folder,
                                                                        node::launcher::Launcher& launcher,
                                                                        double time_scale, int interrupt);
// "4 coprocesses 'arithmetic' with 1 core, 500 MB memory, 1 MB disk each": for a message.
std::string describe(const functions::coprocess::Runner& coprocesses, const engine::model::Resources& share);
engine::model::Resources coprocess_share(const CoprocessSettings& settings,
                                         const engine::model::Resources& worker);

}  // namespace wq::programs::worker
