#include "node/usage/oom_counter.h"

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

}  // namespace wq::node::usage
