// An update of a catalog, and an expression over it. Any bytes are refused, or a record: in one line, read
// again as the same, with its members where a tree has them, and with what the server sets just once. Where
// it is a manager's, workers get addresses and names of hosts. Any text is no expression, or has a value
// within its limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "net/catalog/record.h"
#include "net/contact/manager_record.h"
#include "require.h"

namespace {

using namespace wq::net::catalog;
using wq::Json;
using wq::fuzz::require;

void check_record(const FlatRecord& record) {
    const Json tree = record.json();
    require(tree.is_object(), "a record is an object");
    require(record.text().find('\n') == std::string::npos, "in one line");
    const auto again = read_update(record.text());
    require(again.ok() && again->json() == tree, "a record is read again");
    for (const auto& [key, value] : tree.members()) {
        if (key.find_first_of("\"\\") != std::string::npos || text_of(Json(key)).size() != key.size() + 2)
            continue;
        Json found;
        require(record.value_of(key, found), "a member of the tree is one of the record");
    }
    const FlatRecord own = record.with({{"address", "\"own\""}});
    require(own.json()["address"] == "own", "the server's address holds");
    require(own.with({{"address", "1"}}).text().size() <= own.text().size(), "it replaces the one before");
}

// What a worker takes of it to call a manager.
void check_manager(const Json& record) {
    const auto manager = wq::net::contact::read_manager_record(record);
    if (!manager) return;
    require(manager->port > 0 && wq::net::contact::is_project_name(manager->project),
            "it has a port and a name");
    require(!manager->hosts.empty() && manager->hosts.size() <= wq::net::contact::most_record_hosts,
            "it has some addresses, and not many");
    for (const std::string& host : manager->hosts)
        require(!host.empty() && host.size() < 256 && host.front() != '-' &&
                    host.find_first_of(std::string_view("\0 \n/;%'\"", 8)) == std::string::npos,
                "an address, or a host name");
}

void check_expression(std::string_view text, const FlatRecord& record) {
    const auto expression = JxExpression::parse(text);
    if (!expression) return require(!expression.error().message.empty(), "a refusal says why");
    const Json tree = record.json();
    const auto value = expression->value(tree);
    require(!value || text_of(*value).size() < (std::size_t{8} << 20), "a value is no bomb");
    require(expression->matches(tree) == (value && *value == true), "only true matches");
    require(expression->matches_flat(record) == (value && *value == true),
            "a flat record matches as its tree");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::size_t cut = std::min(bytes.find('\n'), bytes.size());
    FlatRecord record(R"({"a":1,"b":[1,{"c":"x"}],"s":"text","f":0.5,"t":true})");
    const std::string_view update = bytes.substr(std::min(cut + 1, size));
    if (members_of_usual(update)) require(!Json::parse(update).is_discarded(), "the scanner takes JSON only");
    if (const auto read = read_update(update)) {
        record = *read;
        check_record(record);
        check_manager(record.json());
    }
    check_expression(bytes.substr(0, cut), record);
    return 0;
}
