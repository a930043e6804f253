// The command lines of catalog_query and catalog_update.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/catalog/catalog_hosts.h"
#include "net/catalog/jx.h"

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

}  // namespace wq::programs::status
