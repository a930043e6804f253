#include "programs/run/shared_list.h"

#include <cstdlib>
#include <utility>

#include "shared_list/store/list_place.h"
#include "engine/tasklist/settings.h"

namespace wq::cli {

Result<std::unique_ptr<shared_run::SharedSource>> open_shared_list(
    const RunOptions& options, std::size_t ranks, manager::TaskTable& tasks,
    std::function<void(const std::string&)> say) {
    const char* const master = std::getenv("MASTER_SERVER");
    auto place = list_store::list_place(options.source.path, master == nullptr ? "" : master);
    if (!place) return place.error();
    shared_run::DispatcherOptions dispatcher;
    dispatcher.place = std::move(*place);
    dispatcher.once = options.shared.once;
    dispatcher.waits_for_workers = options.listen.has_value();
    dispatcher.expected_seats = ranks;
    dispatcher.poll = options.shared.poll;
    dispatcher.lease = options.shared.lease;
    core::Shape shape;
    shape.needs = options.defaults.needs;
    if (shape.needs.cores < 0) shape.needs.cores = 1;
    shape.timeout = options.defaults.timeout;
    shape.retries = options.defaults.retries;
    if (options.defaults.keeps_batch_environment) {
        taskfile::Settings settings;
        if (const Status set = taskfile::apply_settings("batch-environment=keep", settings); !set)
            return set.error();
        tasks.add_settings(settings);
    }
    return std::make_unique<shared_run::SharedSource>(std::move(dispatcher), std::move(shape), tasks,
                                                      std::move(say));
}

}  // namespace wq::cli
