#include "programs/run/shared_list.h"

#include <cstdlib>
#include <utility>

#include "engine/tasklist/settings.h"
#include "shared_list/store/list_place.h"

namespace wq::programs::run {

Result<std::unique_ptr<shared_list::source::SharedSource>> open_shared_list(
    const RunOptions& options, std::size_t ranks, manager::TaskTable& tasks,
    std::function<void(const std::string&)> say) {
    const char* const master = std::getenv("MASTER_SERVER");
    auto place = shared_list::store::list_place(options.source.path, master == nullptr ? "" : master);
    if (!place) return place.error();
    shared_list::source::DispatcherOptions dispatcher;
    dispatcher.place = std::move(*place);
    dispatcher.once = options.shared.once;
    dispatcher.waits_for_workers = options.listen.has_value();
    dispatcher.expected_seats = ranks;
    dispatcher.poll = options.shared.poll;
    dispatcher.lease = options.shared.lease;
    engine::model::Shape shape;
    shape.needs = options.defaults.needs;
    if (shape.needs.cores < 0) shape.needs.cores = 1;
    shape.timeout = options.defaults.timeout;
    shape.retries = options.defaults.retries;
    if (options.defaults.keeps_batch_environment) {
        engine::tasklist::Settings settings;
        if (const Status set = engine::tasklist::apply_settings("batch-environment=keep", settings); !set)
            return set.error();
        tasks.add_settings(settings);
    }
    return std::make_unique<shared_list::source::SharedSource>(std::move(dispatcher), std::move(shape), tasks,
                                                               std::move(say));
}

}  // namespace wq::programs::run
