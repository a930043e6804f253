// Managers by name, of this site and beyond: the entries of the registry, and the records of the catalog
// servers that the user named. An entry was written by this user, and has the manager's key and certificate.
// A record may be anyone's: it says only where to ask.
#pragma once

#include <regex.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "net/catalog/catalog_client.h"
#include "net/contact/manager_record.h"
#include "net/contact/registry.h"

namespace wq::net::contact {

// What a user calls managers by: a POSIX extended regular expression that must match the whole name.
class NamePattern {
  public:
    // Error usage: no such expression.
    static Result<NamePattern> of(const std::string& text);
    bool matches(const std::string& name) const;
    // The only name that matches, if that is simple to see; else empty.
    const std::string& only_name() const { return only_name_; }

  private:
    NamePattern() = default;
    std::shared_ptr<const regex_t> compiled_;
    std::string only_name_;
};

struct NamedManager {
    Listing listing;                      // of a record: without a key
    std::optional<ManagerRecord> record;  // nullopt: it is of the registry
};

struct NamedManagers {
    // Those that our workers can serve: with waiting tasks first, by priority, among equals in random order.
    std::vector<NamedManager> managers;
    // Records that were skipped.
    std::size_t of_cctools = 0;
    std::size_t of_other_versions = 0;
    std::string other_version;  // of one of them
    std::string trouble;        // why the catalog servers were not asked; empty: one has answered
};
// What to tell the user of those that were skipped; lines.
std::vector<std::string> remarks_on(const NamedManagers& found);

// The message if no manager has the name. `trouble`: as in NamedManagers.
std::string none_matches(const std::string& pattern, const catalog::CatalogHosts& catalogs,
                         const std::string& trouble);

// "HOST:PORT" of an entry; of a record also from where it came, so that no stranger's record has the place of
// another manager.
std::string place_of(const NamedManager& manager);

// A manager that is in the registry and in the catalog is listed once, as its entry.
bool is_same_manager(const frames::Contact& entry, const ManagerRecord& record);

// Those of both whose whole name matches.
NamedManagers named_managers(std::vector<Listing> entries, const std::vector<Json>& records,
                             const NamePattern& pattern, std::uint64_t seed);

// Those of the registry alone. Errors: those of find_managers().
Result<NamedManagers> find_registered(const NamePattern& pattern, std::uint64_t seed);

// For CatalogClient::query().
std::string query_for_managers(const NamePattern& pattern);

// Waits for catalog servers: call it on a thread that may.
class NameFinder {
  public:
    explicit NameFinder(catalog::CatalogHosts catalogs)
        : catalogs_(std::move(catalogs)), client_(catalogs_) {}

    const catalog::CatalogHosts& catalogs() const { return catalogs_; }
    const std::string& trouble() const { return trouble_; }  // of the last search
    // Asks each server once, until `until`, or `stop` (a descriptor) is readable. Without an answer of a
    // catalog server: those of the registry, with the reason. Errors: those of find_managers(); interrupted.
    Result<NamedManagers> find(const NamePattern& pattern, std::uint64_t seed, Instant until, int stop = -1);

  private:
    catalog::CatalogHosts catalogs_;
    catalog::CatalogClient client_;
    std::string trouble_;
};

}  // namespace wq::net::contact
