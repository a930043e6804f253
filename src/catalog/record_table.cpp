#include "catalog/record_table.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "catalog/record.h"

namespace wq::catalog {

namespace {

constexpr std::size_t bytes_of_an_entry = 800;  // in the tables: measured
constexpr std::size_t most_name_bytes = 1024;

std::string without_case(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::size_t bytes_of(const RecordTable::Entry& entry) {
    return bytes_of_an_entry + entry.record.bytes();
}

std::string name_of(const RecordTable::Entry& entry, const std::string& of_host) {
    if (!of_host.empty()) return of_host;
    return entry.own_name.empty() ? entry.address : entry.own_name;
}

}  // namespace

Result<std::string> RecordTable::update(const FlatRecord& record, const Sender& sender, Instant now,
                                        WallMicros wall) {
    Entry entry;
    entry.address = sender.address;
    entry.by_udp = sender.by_udp;
    entry.own_name = record.text_of("name");
    if (entry.own_name.size() > most_name_bytes)
        return Error{ExitCode::bad_input, "the name of a record has more than 1,024 bytes"};
    std::vector<FlatRecord::Given> given{{"address", text_of(Json(sender.address))},
                                         {"lastheardfrom", std::to_string(wall / micros_per_second)},
                                         {"name", text_of(Json(name_of(entry, sender.name)))}};
    for (const std::string_view key : {"total", "avail"})
        if (Json value; limits_.believed != INT64_MAX && record.value_of(key, value) && value.is_number() &&
                        value > limits_.believed)
            given.push_back({key, std::to_string(limits_.believed)});
    entry.record = record.with(given);
    std::string key = key_of(entry.record, entry.own_name);
    if (const auto old = by_key_.find(key); old != by_key_.end()) {
        if (sender.by_udp && !old->second.at->second.by_udp)
            return Error{ExitCode::refused, "its last record came by TCP: it is replaced by TCP only"};
        erase(key);
    }
    entry.dies = now + lifetime_of(record, limits_.lifetime);
    std::string name = name_of(entry, sender.name);
    insert(key, std::move(name), std::move(entry), ++updates_);
    make_room();
    return key;
}

void RecordTable::insert(const std::string& key, std::string name, Entry entry, std::uint64_t number) {
    const std::size_t bytes = bytes_of(entry);
    deaths_.emplace(entry.dies, key);
    Place place{without_case(std::move(name)), key};
    const auto at = by_order_.emplace(std::move(place), std::move(entry)).first;
    const Known& known = by_key_.emplace(key, Known{at, number, bytes}).first->second;
    count(at->second, key, known, true);
}

void RecordTable::erase(const std::string& key) {
    const auto known = by_key_.find(key);
    const auto at = known->second.at;
    count(at->second, key, known->second, false);
    deaths_.erase({at->second.dies, key});
    by_key_.erase(known);
    by_order_.erase(at);
}

void RecordTable::count(const Entry& entry, const std::string& key, const Known& known, bool comes) {
    Pool& pool = pools_[entry.by_udp ? 1 : 0];
    Group& group = pool.groups[entry.address];
    pool.largest.erase({group.bytes, entry.address});
    if (comes) {
        pool.bytes += known.bytes;
        group.bytes += known.bytes;
        group.oldest.emplace(known.number, key);
    } else {
        pool.bytes -= known.bytes;
        group.bytes -= known.bytes;
        group.oldest.erase(known.number);
    }
    if (group.oldest.empty())
        pool.groups.erase(entry.address);
    else
        pool.largest.emplace(group.bytes, entry.address);
}

void RecordTable::make_room() {
    while (bytes() > limits_.bytes && by_key_.size() > 1) {
        const Pool& pool = pools_[pools_[0].bytes > pools_[1].bytes ? 0 : 1];
        const std::string key = pool.groups.at(pool.largest.rbegin()->second).oldest.begin()->second;
        erase(key);
        ++evicted_;
    }
}

void RecordTable::name_host(const std::string& address, const std::string& name) {
    for (const Pool& pool : pools_) {
        const auto group = pool.groups.find(address);
        if (group == pool.groups.end()) continue;
        const auto keys = group->second.oldest;  // it changes with each record
        for (const auto& [number, key] : keys) {
            Entry entry = by_key_.at(key).at->second;
            erase(key);
            entry.record = entry.record.with({{"name", text_of(Json(name))}});
            insert(key, name, std::move(entry), number);
        }
    }
}

std::vector<std::string> RecordTable::expire(Instant now) {
    std::vector<std::string> removed;
    while (!deaths_.empty() && deaths_.begin()->first <= now) {
        removed.push_back(deaths_.begin()->second);
        erase(removed.back());
    }
    return removed;
}

RecordTable::Order::const_iterator RecordTable::behind(const Place* last) const {
    return last == nullptr ? by_order_.begin() : by_order_.upper_bound(*last);
}

const RecordTable::Entry* RecordTable::find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second.at->second;
}

}  // namespace wq::catalog
