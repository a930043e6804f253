#include "factory/job_log.h"

#include <unistd.h>

#include <deque>
#include <fstream>

#include "base/units.h"

namespace wq::factory {

std::string log_of(const std::string& script, const std::string& id) {
    const std::string whole = script + "." + id + ".log";
    const std::string brief = script + "." + id.substr(0, id.find('.')) + ".log";
    return ::access(whole.c_str(), F_OK) != 0 && ::access(brief.c_str(), F_OK) == 0 ? brief : whole;
}

bool joined_by_its_log(const std::string& path) {
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);)
        if (line.find("work_queue_worker: connected to manager ") != std::string::npos) return true;
    return false;
}

std::vector<std::string> tail_of(const std::string& path, std::size_t most) {
    std::deque<std::string> last;
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);) {
        if (line.empty()) continue;
        last.push_back(line_for_message(line));
        if (last.size() > most) last.pop_front();
    }
    return {last.begin(), last.end()};
}

}  // namespace wq::factory
