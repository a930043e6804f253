// The command line of catalog_server.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/catalog_server/settings.h"

namespace wq::programs::status {

struct CatalogServerCommand {
    net::catalog_server::ServerSettings settings;
    std::string port_file, ssl_port_file, pid_file;
    bool background = false;
    bool help = false;
    bool version = false;
    std::vector<std::string> remarks;  // lines to print at the start
};

// Error (usage) in one line.
Result<CatalogServerCommand> parse_catalog_server_options(int argc, const char* const* argv);
std::string catalog_server_help();

}  // namespace wq::programs::status
