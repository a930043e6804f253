// The records that a catalog server holds: the last of each key, for as long as they live, in bounded memory.
//
// Anyone may send records, and by UDP in anyone's name. So records that came by TCP, whose sender has
// answered from its address, are replaced by TCP only, and of the memory each of the two ways is sure of its
// half. A protocol that takes more, when all is used, loses the oldest record of the address that has most of
// it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/catalog/flat_record.h"

namespace wq::net::catalog {

struct TableLimits {
    Duration lifetime = std::chrono::minutes(30);
    std::size_t bytes = 100 << 20;      // of records, with what their memory costs
    std::int64_t believed = INT64_MAX;  // `total` and `avail` above it become it
};

enum class Protocol : std::uint8_t { tcp, udp };  // that a record came

struct Sender {
    std::string address;  // "10.0.0.7"
    std::string name;     // of its host; empty: unknown, then the record's own name holds
    Protocol protocol = Protocol::tcp;
};

// Is told of each change, before it is over.
class TableWatcher {
  public:
    virtual ~TableWatcher() = default;
    virtual void created(const std::string& key, const FlatRecord& record) = 0;
    virtual void changed(const std::string& key, const FlatRecord& before, const FlatRecord& after) = 0;
    virtual void removed(const std::string& key) = 0;
};

class RecordTable {
  public:
    explicit RecordTable(TableLimits limits) : limits_(limits) {}
    RecordTable(const RecordTable&) = delete;
    RecordTable& operator=(const RecordTable&) = delete;

    // It must outlive the table; nullptr: none.
    void watch(TableWatcher* watcher) { watcher_ = watcher; }

    // By name without case, then by key: the order in which records are listed.
    struct ListKey {
        std::string name, key;
        auto operator<=>(const ListKey&) const = default;
    };
    struct Entry;
    using Order = std::pmr::map<ListKey, Entry>;
    struct Group {  // the records of one address that came by one protocol
        std::size_t bytes = 0;
        std::list<Order::iterator> by_age;  // of their last updates, oldest first
    };
    struct Entry {
        FlatRecord record;
        Protocol protocol = Protocol::tcp;
        Instant dies{};
        // Of the table.
        std::size_t bytes = 0;
        std::pair<const std::string, Group>* group = nullptr;  // and its address
        std::list<Order::iterator>::iterator age{};
        std::multimap<Instant, Order::iterator>::iterator death{};  // at `dies` or before
    };

    // Adds a record, or replaces the one of its key, and sets `address`, `name` and `lastheardfrom` (s since
    // 1970), as CCTools' server does. Returns its key. Errors: refused: the one of its key came by TCP, and
    // this one did not; bad_input: its name has more than 1,024 bytes.
    Result<std::string> update(const FlatRecord& record, const Sender& sender, Instant now, WallMicros wall);

    // Adds a record as a table had it before, or replaces the one of this key.
    void restore(const std::string& key, FlatRecord record, Protocol protocol, Instant dies);
    void remove(const std::string& key);

    // All records of this address are of the host `name`.
    void name_host(const std::string& address, const std::string& name);

    // Removes records whose lifetime is over; call it now and then. Returns their keys.
    std::vector<std::string> expire(Instant now);

    std::size_t size() const { return by_order_.size(); }
    std::size_t bytes() const { return pools_[0].bytes + pools_[1].bytes; }
    std::uint64_t evicted() const { return evicted_; }

    // The first record, or the first behind `last`, and those behind it, until the table changes: a reader of
    // all may take its time, and each record that stays is seen once.
    Order::const_iterator behind(const ListKey* last) const;
    Order::const_iterator end() const { return by_order_.end(); }
    const Entry* find(const std::string& key) const;

  private:
    struct Pool {  // of one protocol
        std::size_t bytes = 0;
        std::unordered_map<std::string, Group> groups;                 // by address
        std::set<std::pair<std::size_t, const std::string*>> largest;  // and addresses
    };
    Pool& pool_of(const Entry& entry) { return pools_[entry.protocol == Protocol::udp ? 1 : 0]; }
    void store_record(const std::string& key, const std::string& name, FlatRecord record, Protocol protocol,
                      Instant dies);
    void insert(ListKey place, const std::string& address, Entry entry);
    void replace(Order::iterator at, FlatRecord record, Instant dies);
    void erase(Order::iterator at);
    void resize(Entry& entry, std::size_t bytes);
    void make_room();

    TableLimits limits_;
    TableWatcher* watcher_ = nullptr;
    // Keeps entries close together: a search looks at all of them, and at few texts.
    std::pmr::unsynchronized_pool_resource entries_;
    Order by_order_{&entries_};
    std::unordered_map<std::string_view, Order::iterator> by_key_;
    std::multimap<Instant, Order::iterator> deaths_;
    Pool pools_[2];  // by TCP, by UDP
    std::uint64_t evicted_ = 0;
};

}  // namespace wq::net::catalog
