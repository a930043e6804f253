// The manager's connections: which peers there are, which worker each of them is, and what is still to be
// sent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "net/transport.h"
#include "records/records.h"
#include "session/outbox.h"
#include "session/session_table.h"
#include "wire/messages.h"

namespace wq::manager {

using LinkKey = std::pair<net::Transport*, net::PeerId>;

struct Link {
    LinkKey key;
    std::string address;
    std::optional<session::Outbox> outbox;
    std::optional<records::WorkerRecord> record;  // once it has said hello
    std::uint64_t told_environment = 0;           // `#!` lines sent
    std::string os, arch;                         // of its host
    bool takes_tickets = false;
    bool shares_files = false;  // it sees our files: none are sent
    bool stranger = false;      // it came by itself (over TCP): it is no rank, and nothing it says is trusted
    Instant hello_until;        // of a stranger
    session::Session* session = nullptr;  // of a worker over TCP
};

class Links {
  public:
    // Peers of this transport are strangers.
    void expect_tcp_workers(const net::Transport& from) { strangers_.insert(&from); }
    // `hello_limit`: how long a stranger may take to say hello.
    void open(net::Transport& from, const net::Joined& joined, Duration hello_limit, Instant now);
    // From now on the worker is reached by this link, whatever it was before.
    void assign(Link& link, const records::WorkerRecord& record);
    // Forgets the link. Returns whether a worker was reached by it.
    bool remove(LinkKey key);

    Link* find(LinkKey key);
    Link* of(WorkerId worker) const;  // null while it is disconnected
    std::map<LinkKey, Link>& all() { return links_; }
    std::size_t without_hello() const;
    // Strangers whose time to say hello is over, each once.
    Link* next_silent(Instant now);
    std::optional<Instant> next_hello_limit() const;

    // With the next flush().
    void tell(Link& link, const wire::Message& message);
    void tell(WorkerId worker, const wire::Message& message);  // nothing happens while it is disconnected
    // This, and nothing more. The link stays until remove().
    void close(Link& link, const wire::Message& last);
    bool has_unsent() const { return !unsent_.empty(); }
    bool flush();  // whether tasks were among what was sent

  private:
    std::map<LinkKey, Link> links_;
    std::unordered_map<WorkerId, Link*> workers_;
    std::vector<LinkKey> unsent_;  // with messages of this turn
    bool tasks_unsent_ = false;    // among them
    std::set<const net::Transport*> strangers_;
    std::deque<std::pair<Instant, LinkKey>> unheard_;  // strangers, by the end of their time
};

}  // namespace wq::manager
