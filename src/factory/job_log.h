// The log of a worker's job.
#pragma once

#include <string>
#include <vector>

namespace wq::factory {

// SCRIPT.ID.log; PBS cuts the server off its ids there.
std::string log_of(const std::string& script, const std::string& id);

// Whether it says that the worker reached a manager. False if it cannot be read.
bool joined_by_its_log(const std::string& path);

// Its last lines that are not empty, shortened; none if it cannot be read.
std::vector<std::string> tail_of(const std::string& path, std::size_t most = 5);

}  // namespace wq::factory
