#include "host/oom_counter.h"

#include <fstream>

#include "host/control_group.h"

namespace wq::host {

OomCounter::OomCounter() : OomCounter(oom_event_files()) {}

OomCounter::OomCounter(std::vector<std::string> files) : files_(std::move(files)), last_(read()) {}

bool OomCounter::grew() {
    const std::uint64_t before = last_;
    last_ = read();
    return last_ > before;
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

}  // namespace wq::host
