#include "node/process/host_files.h"

#include <sys/utsname.h>

#include <fstream>

namespace wq::node::process {

namespace {

constexpr std::string_view file_name = "/work_queue_hosts.";

std::string written(const std::string& path, const std::string& line) {
    std::ofstream file(path);
    file << line << '\n';
    file.close();
    return file ? path : std::string();
}

}  // namespace

const HostFiles::Paths& HostFiles::of(std::int64_t slots) {
    const auto [place, is_new] = paths_.try_emplace(slots);
    if (!is_new || folder_.empty()) return place->second;
    utsname names{};
    uname(&names);
    const std::string host = names.nodename;
    const std::string number = std::to_string(slots);
    const std::string path = folder_ + std::string(file_name) + number;
    place->second = {written(path, host + " slots=" + number), written(path + ".hydra", host + ":" + number)};
    return place->second;
}

bool HostFiles::made(std::string_view path) {
    return path.find(file_name) != std::string_view::npos;
}

}  // namespace wq::node::process
