#include "catalog/record_table.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "catalog/record.h"

namespace wq::catalog {

namespace {

constexpr std::size_t bytes_of_an_entry = 800;  // in the tables: measured
constexpr std::size_t most_name_bytes = 1024;

std::size_t memory_of(const Json& value) {
    if (value.is_string()) return value.get_ref<const std::string&>().capacity();
    if (!value.is_structured()) return 0;
    std::size_t bytes =
        value.size() * (value.is_object() ? sizeof(Json::object_t::value_type) : sizeof(Json));
    for (const auto& [key, part] : value.items()) bytes += memory_of(part);
    return bytes;
}

std::string without_case(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::size_t bytes_of(const RecordTable::Entry& entry) {
    return bytes_of_an_entry + entry.text.size() + memory_of(entry.record);
}

void set_name(RecordTable::Entry& entry, const std::string& of_host) {
    const std::string& otherwise = entry.own_name.empty() ? entry.address : entry.own_name;
    entry.record["name"] = of_host.empty() ? otherwise : of_host;
    entry.text = text_of(entry.record);
}

void believe_at_most(Json& record, std::int64_t most) {
    for (const char* const key : {"total", "avail"})
        if (const auto found = record.find(key); found != record.end() && found->is_number() && *found > most)
            *found = most;
}

}  // namespace

Result<std::string> RecordTable::update(Json record, const Sender& sender, Instant now, WallMicros wall) {
    Entry entry;
    entry.address = sender.address;
    entry.by_udp = sender.by_udp;
    if (const auto own = record.find("name"); own != record.end() && own->is_string())
        entry.own_name = own->get<std::string>();
    if (entry.own_name.size() > most_name_bytes)
        return Error{ExitCode::bad_input, "the name of a record has more than 1,024 bytes"};
    record["address"] = sender.address;
    record["lastheardfrom"] = wall / micros_per_second;
    if (limits_.believed != INT64_MAX) believe_at_most(record, limits_.believed);
    std::string key = key_of(record);
    if (const auto old = by_key_.find(key); old != by_key_.end()) {
        if (sender.by_udp && !old->second.at->second.by_udp)
            return Error{ExitCode::refused, "its last record came by TCP: it is replaced by TCP only"};
        erase(key);
    }
    entry.dies = now + lifetime_of(record, limits_.lifetime);
    entry.record = std::move(record);
    set_name(entry, sender.name);
    insert(key, std::move(entry), ++updates_);
    make_room();
    return key;
}

void RecordTable::insert(std::string key, Entry entry, std::uint64_t number) {
    const std::size_t bytes = bytes_of(entry);
    deaths_.emplace(entry.dies, key);
    Place place{without_case(entry.record["name"].get<std::string>()), key};
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
            set_name(entry, name);
            insert(key, std::move(entry), number);
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
