#include "net/contact/manager_record.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/time.h"
#include "records/journal/run_status.h"

namespace wq::net::contact {
namespace {

using Hosts = std::vector<std::string>;

Json record() {
    return Json::parse(R"({"type": "wq_master", "project": "align", "port": 9123, "name": "node3.site",
        "address": "192.0.2.3", "owner": "ann", "wire": "work_queue/12", "ssl": true, "priority": -2,
        "tasks_waiting": 7, "tasks_on_workers": 5, "tasks_left": 9, "workers": 3, "lastheardfrom": 1700000000,
        "network_interfaces": [{"interface": "eth0", "address": "10.0.0.3", "host": "10.0.0.3"},
                               {"interface": "ib0", "host": "fd00::3"}]})");
}

Json with(const char* key, Json value) {
    Json changed = record();
    changed[key] = std::move(value);
    return changed;
}

TEST(ManagerRecord, HasWhatAWorkerNeeds) {
    const auto manager = read_manager_record(record());
    ASSERT_TRUE(manager);
    EXPECT_EQ(manager->project, "align");
    EXPECT_EQ(manager->port, 9123);
    EXPECT_EQ(manager->wire, "work_queue/12");
    EXPECT_EQ(manager->owner, "ann");
    EXPECT_TRUE(manager->ssl);
    EXPECT_EQ(manager->priority, -2);
    EXPECT_EQ(manager->waiting, 7u);
    EXPECT_EQ(manager->on_workers, 5u);
    EXPECT_EQ(manager->left, 9u);
    EXPECT_EQ(manager->workers, 3u);
    EXPECT_EQ(manager->heard, 1700000000);
    EXPECT_TRUE(wire_of_record().starts_with("work_queue/"));
}

TEST(ManagerRecord, AddressesComeInThePreferredOrder) {
    const auto hosts = [](const char* preferred) {
        return read_manager_record(with("manager_preferred_connection", preferred)).value().hosts;
    };
    const Hosts by_ip{"10.0.0.3", "fd00::3", "192.0.2.3", "node3.site"};
    EXPECT_EQ(read_manager_record(record())->hosts, by_ip);
    EXPECT_EQ(hosts("by_ip"), by_ip);
    EXPECT_EQ(hosts("by what"), by_ip);
    EXPECT_EQ(hosts("by_hostname"), (Hosts{"node3.site", "10.0.0.3", "fd00::3", "192.0.2.3"}));
    EXPECT_EQ(hosts("by_apparent_ip"), (Hosts{"192.0.2.3", "10.0.0.3", "fd00::3", "node3.site"}));
}

TEST(ManagerRecord, AddressesAreOnceAndFew) {
    Json many = with("address", "10.0.0.0");
    many["network_interfaces"] = Json::array();
    for (int n = 0; n < 1000; ++n)
        many["network_interfaces"].push_back({{"address", "10.0.0." + std::to_string(n / 2 % 250)}});
    const auto manager = read_manager_record(many);
    ASSERT_TRUE(manager);
    EXPECT_LE(manager->hosts.size(), most_record_hosts);
    EXPECT_EQ(manager->hosts.at(1), "10.0.0.1");
}

TEST(ManagerRecord, LoopbackAddressesAreForItsOwnHost) {
    Json local = with("address", "127.0.1.1");
    local["network_interfaces"] = Json::array(
        {Json{{"address", "10.0.0.3"}}, Json{{"address", "127.0.0.1"}}, Json{{"address", "::1"}}});
    EXPECT_EQ(read_manager_record(local)->hosts, (Hosts{"10.0.0.3", "node3.site"}));
    local["name"] = "localhost";
    EXPECT_EQ(read_manager_record(local)->hosts, (Hosts{"10.0.0.3"}));
    local["name"] = records::journal::host_name();
    EXPECT_EQ(read_manager_record(local)->hosts,
              (Hosts{"10.0.0.3", "127.0.0.1", "::1", "127.0.1.1", records::journal::host_name()}));
    local["name"] = "localhost";
    std::erase_if(local.members(), [](const Json::Member& one) { return one.key == "network_interfaces"; });
    EXPECT_EQ(read_manager_record(local)->hosts, (Hosts{"127.0.1.1", "localhost"}));
}

TEST(ManagerRecord, WorkersAndAgeAreBounded) {
    EXPECT_EQ(read_manager_record(with("workers", INT64_MAX))->workers, most_record_workers);
    EXPECT_EQ(read_manager_record(with("lastheardfrom", INT64_MIN))->heard, 0);
    EXPECT_LE(read_manager_record(with("lastheardfrom", INT64_MAX))->heard, wall_now() / micros_per_second);
}

TEST(ManagerRecord, OneOfCCToolsHasNoWire) {
    Json stock = record();
    std::erase_if(stock.members(), [](const Json::Member& one) { return one.key == "wire"; });
    stock["type"] = "wq_manager";
    EXPECT_EQ(read_manager_record(stock).value().wire, "");
}

TEST(ManagerRecord, WhatHasNoUsablePartIsNone) {
    const std::string long_name(256, 'x');
    for (const Json& bad : {Json(7),
                            Json::array(),
                            Json::object(),
                            with("type", "wq_factory"),
                            with("type", 1),
                            with("project", ""),
                            with("project", 5),
                            with("project", long_name),
                            with("project", "a\nb"),
                            with("project", "a\x1b[2Jb"),
                            with("project", "a\xc2\x9bm"),
                            with("project", "a\x7f"),
                            with("port", 0),
                            with("port", -1),
                            with("port", 65536),
                            with("port", "9123"),
                            with("port", UINT64_MAX),
                            with("port", 9123.5),
                            with("address", "node3"),
                            with("address", "10.0.0.7 "),
                            with("address", std::string("10.0.0.7\0x", 10)),
                            with("address", "10.0.0.7:9123"),
                            with("address", "fe80::1%eth0"),
                            with("name", "a b"),
                            with("name", "-oProxy"),
                            with("name", "a;b"),
                            with("name", "a/b"),
                            with("name", std::string(256, 'a')),
                            with("name", "\xc3\xa4"),
                            with("network_interfaces", "10.0.0.7"),
                            with("network_interfaces", Json::array({"10.0.0.7"})),
                            with("network_interfaces", Json::array({{{"address", "node"}}})),
                            with("network_interfaces", Json::array({{{"interface", "eth0"}}})),
                            with("wire", std::string(65, 'w'))})
        EXPECT_FALSE(read_manager_record(bad)) << bad.dump();
    Json nowhere = with("name", "");
    std::erase_if(nowhere.members(), [](const Json::Member& one) { return one.key == "address"; });
    std::erase_if(nowhere.members(), [](const Json::Member& one) { return one.key == "network_interfaces"; });
    EXPECT_FALSE(read_manager_record(nowhere));
}

TEST(ManagerRecord, FiguresAreBounded) {
    const auto manager = read_manager_record(with("tasks_waiting", UINT64_MAX));
    ASSERT_TRUE(manager);
    EXPECT_EQ(manager->waiting, std::uint64_t{1} << 40);
    EXPECT_EQ(read_manager_record(with("tasks_waiting", -5))->waiting, 0u);
    EXPECT_EQ(read_manager_record(with("tasks_waiting", "many"))->waiting, 0u);
    EXPECT_EQ(read_manager_record(with("tasks_total_cores", 2.5))->total_cores, 3u);
    EXPECT_EQ(read_manager_record(with("tasks_total_memory", 1e300))->total_memory_mb,
              std::uint64_t{1} << 40);
    EXPECT_EQ(read_manager_record(with("tasks_total_gpus", -1.5))->total_gpus, 0u);
    EXPECT_EQ(read_manager_record(with("priority", UINT64_MAX))->priority, INT64_MAX);
    EXPECT_FALSE(read_manager_record(with("ssl", "no"))->ssl);
}

TEST(ManagerRecord, NamesAreUtf8WithoutControls) {
    EXPECT_TRUE(is_project_name("a"));
    EXPECT_TRUE(is_project_name("\xc3\xa4\xe2\x82\xac and more"));
    EXPECT_TRUE(is_project_name(std::string(255, 'x')));
    for (const std::string& bad : {std::string(), std::string(256, 'x'), std::string("a\xff"),
                                   std::string("a\xc3"), std::string("a\0b", 3), std::string("\t")})
        EXPECT_FALSE(is_project_name(bad));
}

}  // namespace
}  // namespace wq::net::contact
