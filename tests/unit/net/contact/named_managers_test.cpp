#include "net/contact/named_managers.h"

#include <gmock/gmock.h>

#include <set>

#include "base/json.h"
#include "records/journal/run_status.h"

namespace wq::net::contact {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NamePattern pattern(const std::string& text) {
    return NamePattern::of(text).or_throw();
}

Listing entry(const std::string& name, std::uint16_t port, Workload load = {}) {
    Listing listing;
    listing.contact.name = name;
    listing.contact.port = port;
    listing.contact.addresses = {"10.0.0.1", "172.17.0.1", "127.0.0.1"};
    listing.contact.host = "another host";
    listing.contact.key = "key";
    listing.load = load;
    return listing;
}

Json record(const std::string& name, int port, std::int64_t waiting = 0, std::int64_t priority = 0) {
    return {{"type", "wq_master"},      {"project", name},      {"port", port},
            {"address", "192.0.2.9"},   {"name", "node9.site"}, {"wire", wire_of_record()},
            {"tasks_waiting", waiting}, {"priority", priority}, {"workers", 2}};
}

std::vector<std::string> names(const NamedManagers& found) {
    std::vector<std::string> all;
    for (const NamedManager& each : found.managers) all.push_back(each.listing.contact.name);
    return all;
}

TEST(NamedManagers, ComeFromBothByTheirWholeName) {
    const std::vector<Listing> entries{entry("align-1", 1), entry("align", 2), entry("", 3)};
    const std::vector<Json> records{record("align-2", 4), record("my align-3", 5), record("align-", 6)};
    auto found = named_managers(entries, records, pattern("align-[0-9]"), 1);
    EXPECT_THAT(names(found), ::testing::UnorderedElementsAre("align-1", "align-2"));
    for (const NamedManager& each : found.managers) {
        EXPECT_EQ(each.record.has_value(), each.listing.contact.key.empty());
        EXPECT_EQ(each.listing.contact.addresses.empty(), false);
    }
    EXPECT_THAT(names(named_managers({entry("", 3)}, {}, pattern(".*"), 1)), IsEmpty());
}

TEST(NamedManagers, WaitingTasksThenPriorityDecideWhoIsFirst) {
    const std::vector<Listing> entries{entry("idle", 1, {0, 5, 100}), entry("low", 2, {9, 0, 1})};
    const std::vector<Json> records{record("high", 3, 1, 7), record("done", 4, 0, 200),
                                    record("even", 5, 2, 1)};
    std::set<std::string> second;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto order = names(named_managers(entries, records, pattern(".*"), seed));
        ASSERT_EQ(order.size(), 5u);
        EXPECT_EQ(order[0], "high");
        second.insert(order[1]);
        EXPECT_THAT((std::vector<std::string>{order[3], order[4]}), ElementsAre("done", "idle"));
    }
    EXPECT_THAT(second, ::testing::UnorderedElementsAre("low", "even"));  // at random
}

TEST(NamedManagers, OneThatIsInBothIsItsEntry) {
    const std::string here = records::journal::host_name();
    const auto dropped = [](const char* key, Json value, const std::string& host = "another host",
                            const std::string& name = "node9.site") {
        Json same = record("align", 9123);
        same["name"] = name;
        same[key] = std::move(value);
        Listing listed = entry("align", 9123);
        listed.contact.host = host;
        const auto found = named_managers({listed}, {same}, pattern("align"), 1);
        return found.managers.size() == 1 && !found.managers[0].record;
    };
    const auto interfaces = [](const std::vector<std::string>& addresses) {
        Json all = Json::array();
        for (const std::string& each : addresses) all.push_back({{"address", each}});
        return all;
    };
    EXPECT_TRUE(dropped("address", "10.0.0.1"));
    EXPECT_TRUE(dropped("network_interfaces", interfaces({"10.0.0.1", "172.17.0.1"})));
    // The server saw another address of it, such as one of its own host.
    EXPECT_TRUE(dropped("network_interfaces", interfaces({"10.0.0.1", "172.17.0.1", "127.0.0.1", "::1"})));
    EXPECT_FALSE(dropped("network_interfaces", interfaces({"127.0.0.1", "::1"}), here));
    EXPECT_FALSE(dropped("port", 9124));
    EXPECT_FALSE(dropped("address", "10.0.0.2"));
    // A bridge for containers has the same address on all hosts.
    EXPECT_FALSE(dropped("network_interfaces", interfaces({"10.0.0.2", "172.17.0.1"})));
    EXPECT_FALSE(dropped("address", "127.0.0.1"));
    // It is the server's host that a loopback address means.
    EXPECT_FALSE(dropped("address", "127.0.0.1", here));
    EXPECT_FALSE(dropped("address", "127.0.0.1", "another host", here));
    EXPECT_TRUE(dropped("address", "127.0.0.1", here, here));
    EXPECT_TRUE(dropped("address", "127.0.0.1", here, "localhost"));
}

TEST(NamedManagers, ARecordHasThePlaceOfNoOther) {
    Json forged = record("align", 9123);
    forged["address"] = "192.0.2.66";
    Listing listed = entry("align", 9123);
    listed.contact.host = "node9.site";
    const auto found = named_managers({listed}, {record("align", 9123), forged}, pattern("align"), 1);
    std::set<std::string> places;
    for (const NamedManager& each : found.managers) places.insert(place_of(each));
    EXPECT_THAT(places, ElementsAre("node9.site:9123", "node9.site:9123 at 192.0.2.66, by catalog",
                                    "node9.site:9123 at 192.0.2.9, by catalog"));
}

TEST(NamedManagers, ThoseOfOthersAreSkippedAndCounted) {
    Json stock = record("align", 1), old = record("align", 2);
    std::erase_if(stock.members(), [](const Json::Member& one) { return one.key == "wire"; });
    old["wire"] = "work_queue/3";
    const auto found = named_managers({}, {stock, stock, old}, pattern("align"), 1);
    EXPECT_THAT(names(found), IsEmpty());
    EXPECT_THAT(remarks_on(found),
                ElementsAre("2 managers of CCTools match; our workers cannot serve them",
                            "1 manager of another version is skipped: work_queue/3, and this is " +
                                wire_of_record()));
    EXPECT_THAT(remarks_on({}), IsEmpty());
}

TEST(NamedManagers, ARecordTakesTlsAndProvesNothing) {
    Json tls = record("align", 1);
    tls["ssl"] = true;
    const auto found = named_managers({}, {tls}, pattern("align"), 1);
    ASSERT_EQ(found.managers.size(), 1u);
    const auto dial = frames::dial_options(found.managers[0].listing.contact);
    EXPECT_TRUE(dial.key.empty());
    ASSERT_TRUE(dial.tls);
    EXPECT_EQ(dial.tls->by, frames::TlsTrust::By::unverified);
    EXPECT_THAT(dial.managers,
                ElementsAre(frames::HostPort{"192.0.2.9", 1}, frames::HostPort{"node9.site", 1}));
}

TEST(NamedManagers, TheServerIsAskedForOneNameIfThereIsOnlyOne) {
    EXPECT_THAT(query_for_managers(pattern("my_project-1")),
                ::testing::EndsWith("project==\"my_project-1\""));
    EXPECT_THAT(query_for_managers(pattern("my.*")), ::testing::Not(::testing::HasSubstr("project")));
    EXPECT_THAT(query_for_managers(pattern("a\" or true or \"")),
                ::testing::Not(::testing::HasSubstr("project")));
    EXPECT_TRUE(catalog::JxExpression::parse(query_for_managers(pattern("a"))));
    EXPECT_TRUE(
        catalog::JxExpression::parse(query_for_managers(pattern("a"))).or_throw().matches(record("a", 1)));
}

}  // namespace
}  // namespace wq::net::contact
