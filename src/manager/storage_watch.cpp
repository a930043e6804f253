#include "manager/storage_watch.h"

#include <string>

#include "base/units.h"

namespace wq::manager {

void StorageWatch::check_recorder(engine::model::Now now) {
    recorder_.settle();
    for (const std::string& notice : recorder_.notices()) router_.print_line(notice);
    const auto trouble = recorder_.trouble();
    if (trouble && !trouble_since_) {
        trouble_since_ = now.instant;
        router_.print_line(*trouble + "; dispatching is paused; retrying the write for up to " +
                           format_duration(limits_.retry_limit));
    } else if (!trouble && trouble_since_) {
        trouble_since_.reset();
        router_.print_line("results can be written again");
    }
    const std::uint64_t limit = limits_.most_unwritten_bytes;
    const bool hold = trouble || recorder_.backlog_bytes() > (holding_ ? limit / 2 : limit);
    if (hold == holding_) return;
    holding_ = hold;
    router_.react(engine::model::StorageTrouble{hold}, now);
}

void StorageWatch::look_if_full(engine::model::Now now) {
    if (!holding_ && recorder_.backlog_bytes() > limits_.most_unwritten_bytes) check_recorder(now);
}

void StorageWatch::tick(engine::model::Now now) {
    if (gave_up_ || !trouble_since_ || now.instant < *trouble_since_ + limits_.retry_limit) return;
    gave_up_ = true;
    router_.react(engine::model::StopRequested{engine::model::StopReason::storage, Duration{0}}, now);
}

std::optional<Instant> StorageWatch::wakeup() const {
    if (!trouble_since_ || gave_up_) return std::nullopt;
    return *trouble_since_ + limits_.retry_limit;
}

}  // namespace wq::manager
