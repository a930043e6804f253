#include "node/launcher/lane.h"

#include <cerrno>
#include <new>

namespace wq::node::launcher {

Lane* Lanes::acquire() {
    if (idle_.empty()) {
        const std::string temporary = scratch_.empty() ? "" : scratch_ + "/" + std::to_string(all_.size());
        try {
            all_.push_back(std::make_unique<Lane>(all_.size(), base_, temporary, gpu_variable_, hosts_));
        } catch (const std::bad_alloc&) {
            errno = ENOMEM;
            return nullptr;
        }
        idle_.push_back(all_.back().get());
    }
    Lane* const lane = idle_.back();
    for (process::Capture* stream : {&lane->out, &lane->err})
        if (!stream->has_pipe() && !stream->renew()) return nullptr;
    idle_.pop_back();
    running_.add(*lane);
    lane->begin_anew();
    lane->announced = lane->executed = false;
    lane->execution.stack.forget();
    return lane;
}

void Lanes::retire(Lane& lane) {
    running_.remove(lane);
}

void Lanes::release(Lane& lane) {
    idle_.push_back(&lane);
}

}  // namespace wq::node::launcher
