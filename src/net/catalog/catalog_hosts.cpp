#include "net/catalog/catalog_hosts.h"

#include <algorithm>
#include <cstdlib>

#include "base/units.h"

namespace wq::net::catalog {

namespace {

Result<std::uint16_t> port_of_environment() {
    const char* const text = std::getenv("CATALOG_PORT");
    if (text == nullptr || *text == '\0') return default_catalog_port;
    const auto port = parse_count(text, 1, 65535);
    if (!port) return Error{ExitCode::usage, "CATALOG_PORT: " + port.error().message};
    return static_cast<std::uint16_t>(*port);
}

}  // namespace

Result<CatalogHosts> read_catalog_hosts(const std::string& text) {
    if (text.find_first_not_of(", ") == std::string::npos) return CatalogHosts{};
    const auto port = port_of_environment();
    if (!port) return port.error();
    std::string list = text;
    std::erase(list, ' ');
    std::ranges::replace(list, ',', ';');
    auto hosts = frames::parse_addresses(list, *port);
    if (!hosts)
        return Error{ExitCode::usage, "no list of catalog servers: " + quote_for_message(text) +
                                          "; write HOST[:PORT],HOST[:PORT]"};
    return hosts;
}

Result<CatalogHosts> named_catalog_hosts(const std::string& option) {
    const char* const named = std::getenv("CATALOG_HOST");
    return named_catalog_hosts(option, named == nullptr ? "" : named);
}

Result<CatalogHosts> named_catalog_hosts(const std::string& option, const std::string& variable) {
    if (!option.empty()) return read_catalog_hosts(option);
    auto hosts = read_catalog_hosts(variable);
    if (!hosts) return Error{ExitCode::usage, "CATALOG_HOST: " + hosts.error().message};
    return hosts;
}

std::string to_text(const CatalogHosts& hosts) {
    std::string text;
    for (const frames::HostPort& host : hosts) text += (text.empty() ? "" : ",") + frames::to_text(host);
    return text;
}

}  // namespace wq::net::catalog
