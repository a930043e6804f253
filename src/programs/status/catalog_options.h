// The command lines of catalog_query, catalog_update and catalog_server.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/jx.h"
#include "net/catalog_server/catalog_server.h"

namespace wq::programs::status {

struct CatalogQueryCommand {
    net::catalog::CatalogHosts hosts;
    std::string where;
    std::vector<std::pair<std::string, net::catalog::JxExpression>> columns;  // none: whole records
    Duration timeout = std::chrono::seconds(60);
    bool help = false;
    bool version = false;
};
// Error (usage) in one line; bad_input: an expression is none.
Result<CatalogQueryCommand> parse_catalog_query_options(int argc, const char* const* argv);
std::string catalog_query_help();

struct CatalogUpdateCommand {
    net::catalog::CatalogHosts hosts;
    std::string file;  // empty: none; "-": stdin
    bool help = false;
    bool version = false;
};
// Error (usage) in one line.
Result<CatalogUpdateCommand> parse_catalog_update_options(int argc, const char* const* argv);
std::string catalog_update_help();

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
