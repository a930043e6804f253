#include "node/process/python.h"

#include <unistd.h>

#include <cstdlib>

#include "node/process/path_lookup.h"

namespace wq::node::process {

namespace {

constexpr const char* variable = "WORK_QUEUE_PYTHON";

std::string chosen() {
    const char* const name = std::getenv(variable);
    return name == nullptr ? "" : name;
}

}  // namespace

std::string find_python(const std::vector<std::string>& candidates, const std::string& path) {
    if (const std::string wanted = chosen(); !wanted.empty()) {
        const std::string file = PathLookup::search(path, wanted).file;
        return file.empty() ? wanted : file;
    }
    for (const std::string& name : candidates)
        if (const std::string file = PathLookup::search(path, name).file;
            !file.empty() && access(file.c_str(), X_OK) == 0)
            return file;
    return {};
}

std::string chooser_of_python() {
    return chosen().empty() ? "" : "; the worker's WORK_QUEUE_PYTHON names it";
}

}  // namespace wq::node::process
