#include "node/usage/oom.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <utility>

#include "node/machine/control_group.h"

namespace wq::node::usage {

OomCounter::OomCounter() : OomCounter(machine::oom_event_files()) {}

OomCounter::OomCounter(std::vector<std::string> files) : files_(std::move(files)), last_(read()) {}

bool OomCounter::grew() {
    const std::uint64_t before = last_;
    last_ = read();
    return std::exchange(grew_before_, false) || last_ > before;
}

void OomCounter::go_over_to(std::vector<std::string> files) {
    grew_before_ = grew();
    files_ = std::move(files);
    last_ = read();
}

std::uint64_t OomCounter::read() const {
    std::uint64_t sum = 0;
    for (const std::string& file : files_) {
        std::ifstream in(file);
        std::string name;
        for (std::uint64_t value = 0; in >> name >> value;)
            if (name == "oom_kill") sum += value;
    }
    return sum;
}

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
