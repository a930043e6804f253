#include "node/usage/oom_score.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

namespace wq::node::usage {

namespace {
constexpr int highest = 1000;
constexpr int tasks_above_launcher = 300;
}  // namespace

void offer_launcher_as_oom_victim() {
    const Descriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    if (file.valid() && write(file.get(), "500", 3) != 3) return;  // fails if already higher, which is fine
}

OomScore::OomScore() : proc_(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    int ours = highest;
    std::ifstream("/proc/self/oom_score_adj") >> ours;
    if (ours < highest) of_tasks_ = std::to_string(std::min(highest, ours + tasks_above_launcher));
}

void OomScore::offer(pid_t pid) const {
    if (of_tasks_.empty()) return;
    std::array<char, 40> path;
    std::snprintf(path.data(), path.size(), "%d/oom_score_adj", pid);
    const Descriptor file(openat(proc_.get(), path.data(), O_WRONLY | O_CLOEXEC));
    // A task that runs as another user keeps the inherited score.
    if (file.valid() && write(file.get(), of_tasks_.data(), of_tasks_.size()) < 0) return;
}

}  // namespace wq::node::usage
