#include "net/catalog/record_table.h"

#include <algorithm>
#include <cctype>

#include "base/json.h"
#include "net/catalog/record.h"

namespace wq::net::catalog {

namespace {

constexpr std::size_t bytes_of_an_entry = 800;  // in the tables: measured
constexpr std::size_t most_name_bytes = 1024;

std::string without_case(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::size_t bytes_of(const FlatRecord& record) {
    return bytes_of_an_entry + record.bytes();
}

bool is_above(const Json& number, std::int64_t limit) {
    return number.is_number_float() ? number.number() > static_cast<double>(limit) : number.integer() > limit;
}

std::string json_of(const std::string& text) {
    const bool plain = text.find_first_of("\"\\\x7f\xc2") == std::string::npos &&
                       std::ranges::all_of(text, [](char c) { return c >= 0x20; });
    return plain ? '"' + text + '"' : text_of(Json(text));
}

}  // namespace

Result<std::string> RecordTable::update(const FlatRecord& record, const Sender& sender, Instant now,
                                        WallMicros wall) {
    const std::string own_name = record.text_of("name");
    if (own_name.size() > most_name_bytes)
        return Error{ExitCode::bad_input, "the name of a record has more than 1,024 bytes"};
    const std::string& name = !sender.name.empty() ? sender.name
                              : own_name.empty()   ? sender.address
                                                   : own_name;
    std::string key = key_of(record, sender.address, own_name);
    const auto old = by_key_.find(key);
    if (old != by_key_.end() && sender.protocol == Protocol::udp &&
        old->second->second.protocol == Protocol::tcp)
        return Error{ExitCode::refused, "its last record came by TCP: it is replaced by TCP only"};
    std::vector<FlatRecord::Given> given{{"address", json_of(sender.address)},
                                         {"lastheardfrom", std::to_string(wall / micros_per_second)},
                                         {"name", json_of(name)}};
    for (const std::string_view member : {"total", "avail"})
        if (Json value; limits_.believed != INT64_MAX && record.value_of(member, value) &&
                        value.is_number() && is_above(value, limits_.believed))
            given.push_back({member, std::to_string(limits_.believed)});
    store_record(key, name, record.with(given), sender.protocol, now + lifetime_of(record, limits_.lifetime));
    return key;
}

void RecordTable::restore(const std::string& key, FlatRecord record, Protocol protocol, Instant dies) {
    const std::string name = record.text_of("name");
    store_record(key, name, std::move(record), protocol, dies);
}

void RecordTable::store_record(const std::string& key, const std::string& name, FlatRecord record,
                               Protocol protocol, Instant dies) {
    ListKey place{without_case(name), key};
    const auto old = by_key_.find(key);
    const bool known = old != by_key_.end();
    if (watcher_ != nullptr && known) watcher_->changed(key, old->second->second.record, record);
    if (watcher_ != nullptr && !known) watcher_->created(key, record);
    if (known && old->second->second.protocol == protocol && old->second->first.name == place.name) {
        replace(old->second, std::move(record), dies);
    } else {
        if (known) erase(old->second);
        Entry entry;
        entry.record = std::move(record);
        entry.protocol = protocol;
        entry.dies = dies;
        const std::string address = entry.record.text_of("address");
        insert(std::move(place), address, std::move(entry));
    }
    make_room();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): both are moved into the map
void RecordTable::insert(ListKey place, const std::string& address, Entry entry) {
    const auto at = by_order_.emplace(std::move(place), std::move(entry)).first;
    Entry& made = at->second;
    by_key_.emplace(at->first.key, at);
    made.death = deaths_.emplace(made.dies, at);
    made.group = &*pool_of(made).groups.try_emplace(address).first;
    std::list<Order::iterator>& by_age = made.group->second.by_age;
    made.age = by_age.insert(by_age.end(), at);
    resize(made, bytes_of(made.record));
}

// Of the same address, as that is a part of the key.
void RecordTable::replace(Order::iterator at, FlatRecord record, Instant dies) {
    Entry& entry = at->second;
    entry.record = std::move(record);
    entry.dies = dies;
    if (dies < entry.death->first) {
        deaths_.erase(entry.death);
        entry.death = deaths_.emplace(dies, at);
    }
    std::list<Order::iterator>& by_age = entry.group->second.by_age;
    by_age.splice(by_age.end(), by_age, entry.age);
    resize(entry, bytes_of(entry.record));
}

void RecordTable::erase(Order::iterator at) {
    Entry& entry = at->second;
    resize(entry, 0);
    auto& [address, group] = *entry.group;
    group.by_age.erase(entry.age);
    if (group.by_age.empty()) {
        Pool& pool = pool_of(entry);
        pool.largest.erase({group.bytes, &address});
        pool.groups.erase(pool.groups.find(address));
    }
    deaths_.erase(entry.death);
    by_key_.erase(at->first.key);
    by_order_.erase(at);
}

void RecordTable::resize(Entry& entry, std::size_t bytes) {
    if (bytes == entry.bytes) return;
    Pool& pool = pool_of(entry);
    auto& [address, group] = *entry.group;
    pool.largest.erase({group.bytes, &address});
    pool.bytes += bytes - entry.bytes;
    group.bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    pool.largest.emplace(group.bytes, &address);
}

void RecordTable::remove(const std::string& key) {
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return;
    if (watcher_ != nullptr) watcher_->removed(key);
    erase(known->second);
}

void RecordTable::make_room() {
    while (bytes() > limits_.bytes && by_key_.size() > 1) {
        const Pool& pool = pools_[pools_[0].bytes > pools_[1].bytes ? 0 : 1];
        const std::string& address = *pool.largest.rbegin()->second;
        remove(std::string(pool.groups.find(address)->second.by_age.front()->first.key));
        ++evicted_;
    }
}

void RecordTable::name_host(const std::string& address, const std::string& name) {
    for (const Pool& pool : pools_) {
        const auto group = pool.groups.find(address);
        if (group == pool.groups.end()) continue;
        std::vector<std::string> keys;  // the group changes with each record
        for (const Order::iterator at : group->second.by_age) keys.push_back(at->first.key);
        for (const std::string& key : keys) {
            const Entry* const entry = find(key);
            if (entry == nullptr || entry->record.text_of("name") == name) continue;
            store_record(key, name, entry->record.with({{"name", json_of(name)}}), entry->protocol,
                         entry->dies);
        }
    }
}

std::vector<std::string> RecordTable::expire(Instant now) {
    std::vector<std::string> removed;
    while (!deaths_.empty() && deaths_.begin()->first <= now) {
        auto death = deaths_.extract(deaths_.begin());
        Entry& entry = death.mapped()->second;
        death.key() = entry.dies;
        entry.death = deaths_.insert(std::move(death));
        if (entry.dies > now) continue;
        removed.push_back(entry.death->second->first.key);
        remove(removed.back());
    }
    return removed;
}

RecordTable::Order::const_iterator RecordTable::behind(const ListKey* last) const {
    return last == nullptr ? by_order_.begin() : by_order_.upper_bound(*last);
}

const RecordTable::Entry* RecordTable::find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
}

}  // namespace wq::net::catalog
