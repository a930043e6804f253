#include "net/contact/named_managers.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "base/json.h"
#include "base/units.h"
#include "records/journal/run_status.h"

namespace wq::net::contact {

namespace {

NamedManager of_record(ManagerRecord record) {
    NamedManager manager;
    frames::Contact& contact = manager.listing.contact;
    contact.addresses = record.hosts;
    contact.port = record.port;
    contact.tls = record.ssl;
    contact.name = record.project;
    contact.host = record.name.empty() ? record.hosts.front() : record.name;
    manager.listing.load = {record.waiting, record.workers, record.priority};
    manager.record = std::move(record);
    return manager;
}

}  // namespace

std::vector<std::string> remarks_on(const NamedManagers& found) {
    std::vector<std::string> lines;
    if (found.of_cctools > 0)
        lines.push_back(count_of(found.of_cctools, "manager") + " of CCTools " +
                        (found.of_cctools == 1 ? "matches; our workers cannot serve it"
                                               : "match; our workers cannot serve them"));
    if (found.of_other_versions > 0)
        lines.push_back(count_of(found.of_other_versions, "manager") + " of another version " +
                        (found.of_other_versions == 1 ? "is" : "are") + " skipped: " +
                        line_for_message(found.other_version) + ", and this is " + wire_of_record());
    return lines;
}

std::string none_matches(const std::string& pattern, const catalog::CatalogHosts& catalogs,
                         const std::string& trouble) {
    constexpr std::size_t most_listed = 5;
    std::set<std::string> names;
    if (const auto all = find_managers(registry_folder(), ".*", 0))
        for (const Listing& listing : *all) names.insert(listing.contact.name);
    std::string listed;
    std::size_t count = 0;
    for (const std::string& name : names)
        if (++count <= most_listed) listed += (listed.empty() ? "; listed: " : ", ") + line_for_message(name);
    if (count > most_listed) listed += ", and " + std::to_string(count - most_listed) + " more";
    const bool asked = trouble.empty() && !catalogs.empty();
    return "no manager in " + registry_folder() +
           (asked ? " or on the catalog server " + catalog::to_text(catalogs) : "") +
           " has a whole name that matches " + quote_for_message(pattern) + listed +
           (trouble.empty() ? "" : "; no catalog server answers: " + trouble);
}

std::string place_of(const NamedManager& manager) {
    const frames::Contact& contact = manager.listing.contact;
    const std::string place = frames::to_text({contact.host, contact.port});
    if (!manager.record) return place;
    const std::string& address = manager.record->address;
    return place + (address.empty() ? "" : " at " + address) + ", by catalog";
}

// Hosts of one site may have addresses in common that are not theirs alone, such as those of bridges for
// containers: so all have to be the entry's, or the one by which others reach it. A loopback address is of
// the manager's host, or of the server's: it says something only if both sides are this host.
bool is_same_manager(const frames::Contact& entry, const ManagerRecord& record) {
    if (entry.port != record.port) return false;
    const bool only_loopback = std::all_of(record.hosts.begin(), record.hosts.end(), is_loopback);
    const std::string here = records::journal::host_name();
    const bool both_here = entry.host == here && (record.name == here || only_loopback);
    const auto is_of_entry = [&](const std::string& address) {
        if (is_loopback(address)) return both_here;
        return std::find(entry.addresses.begin(), entry.addresses.end(), address) != entry.addresses.end();
    };
    if (!record.address.empty() && is_of_entry(record.address)) return true;
    std::vector<std::string> interfaces = record.interfaces;
    std::erase_if(interfaces, is_loopback);
    return !interfaces.empty() && std::all_of(interfaces.begin(), interfaces.end(), is_of_entry);
}

NamedManagers named_managers(std::vector<Listing> entries, const std::vector<Json>& records,
                             const NamePattern& pattern, std::uint64_t seed) {
    NamedManagers found;
    for (Listing& entry : entries)
        if (!entry.contact.name.empty() && pattern.matches(entry.contact.name))
            found.managers.push_back({std::move(entry), std::nullopt});
    const std::size_t of_registry = found.managers.size();
    const auto is_listed = [&](const ManagerRecord& record) {
        return std::any_of(
            found.managers.begin(), found.managers.begin() + static_cast<std::ptrdiff_t>(of_registry),
            [&](const NamedManager& entry) { return is_same_manager(entry.listing.contact, record); });
    };
    for (const Json& each : records) {
        auto record = read_manager_record(each);
        if (!record || !pattern.matches(record->project) || is_listed(*record)) continue;
        if (record->wire.empty()) {
            ++found.of_cctools;
        } else if (record->wire != wire_of_record()) {
            ++found.of_other_versions;
            found.other_version = record->wire;
        } else {
            found.managers.push_back(of_record(std::move(*record)));
        }
    }
    std::shuffle(found.managers.begin(), found.managers.end(), std::mt19937_64(seed));
    std::stable_sort(found.managers.begin(), found.managers.end(),
                     [](const NamedManager& a, const NamedManager& b) {
                         return goes_first(a.listing.load, b.listing.load);
                     });
    return found;
}

Result<NamedManagers> find_registered(const NamePattern& pattern, std::uint64_t seed) {
    auto entries = find_managers(registry_folder(), ".*", seed);
    if (!entries) return entries.error();
    return named_managers(std::move(*entries), {}, pattern, seed);
}

// A server that knows nothing of expressions sends all; regular expressions have no common language.
std::string query_for_managers(const NamePattern& pattern) {
    const std::string managers = R"((type=="wq_master" or type=="wq_manager"))";
    if (pattern.only_name().empty()) return managers;
    return managers + " and project==\"" + pattern.only_name() + '"';
}

Result<NamedManagers> NameFinder::find(const NamePattern& pattern, std::uint64_t seed, Instant until,
                                       int stop) {
    auto entries = find_managers(registry_folder(), ".*", seed);
    if (!entries) return entries.error();
    std::vector<Json> records;
    std::string trouble;
    if (!catalogs_.empty()) {
        auto answer =
            client_.query(query_for_managers(pattern), until, stop, catalog::CatalogClient::Rounds::one);
        if (answer)
            records = std::move(*answer);
        else if (answer.error().code == ExitCode::interrupted)
            return answer.error();
        else
            trouble = answer.error().message;
    }
    NamedManagers found = named_managers(std::move(*entries), records, pattern, seed);
    found.trouble = trouble_ = std::move(trouble);
    return found;
}

Result<NamePattern> NamePattern::of(const std::string& text) {
    auto compiled = std::make_unique<regex_t>();
    const int wrong = ::regcomp(compiled.get(), ("^(" + text + ")$").c_str(), REG_EXTENDED | REG_NOSUB);
    if (wrong != 0) {
        std::array<char, 200> why{};
        ::regerror(wrong, compiled.get(), why.data(), why.size());
        return Error{ExitCode::usage,
                     quote_for_message(text) + " is not a regular expression: " + why.data()};
    }
    NamePattern pattern;
    pattern.compiled_ = std::shared_ptr<const regex_t>(compiled.release(), [](const regex_t* old) {
        ::regfree(const_cast<regex_t*>(old));
        delete old;
    });
    const bool simple = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_';
    });
    if (simple) pattern.only_name_ = text;
    return pattern;
}

bool NamePattern::matches(const std::string& name) const {
    return ::regexec(compiled_.get(), name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace wq::net::contact
