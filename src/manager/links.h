// The manager's connections: the peers, the worker of each peer, and unsent messages.
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
#include "net/frames/transport.h"
#include "net/messages/messages.h"
#include "net/session/outbox.h"
#include "net/session/session_table.h"
#include "records/journal/records.h"

namespace wq::manager {

using LinkKey = std::pair<net::frames::Transport*, net::frames::PeerId>;

struct Link {
    LinkKey key;
    std::string address;
    std::optional<net::session::Outbox> outbox;
    std::optional<records::journal::WorkerRecord> record;  // after its hello
    std::uint64_t told_environment = 0;                    // `#!` lines sent
    bool takes_tickets = false;
    bool shares_files = false;   // it sees our files, so none are sent
    bool shares_memory = false;  // it maps our memories, so their bytes are not sent
    // It joined on its own (over TCP): it is no rank, and nothing it sends is trusted.
    bool untrusted = false;
    std::deque<net::frames::Arrival> waiting;  // what it sent beyond its share of a turn
    std::size_t begun = 0;                     // bytes of the first of them that are handled
    std::uint64_t turn = 0;                    // the last one in which it was heard
    std::size_t share = 0;                     // messages of it that may still be handled in that turn
    Instant hello_until;                       // hello limit of an untrusted link
    bool asks = false;                         // for a part of a listing, and has not got it
    bool asks_plainly = false;                 // it is no worker: as net::frames::Joined
    net::messages::StatusQuery plain_query;    // what it asks for, and from where
    bool by_http = false;                      // it asked so
    bool has_records = false;                  // it was sent some
    net::session::Session* session = nullptr;  // of a worker over TCP
};

class Links {
  public:
    // Peers of this transport are untrusted.
    void expect_tcp_workers(const net::frames::Transport& from) { untrusted_.insert(&from); }
    // `hello_limit`: an untrusted peer must say hello within this time.
    void open(net::frames::Transport& from, const net::frames::Joined& joined, Duration hello_limit,
              Instant now);
    // From now on this link reaches the worker, instead of any earlier link.
    void assign(Link& link, const records::journal::WorkerRecord& record);
    // Forgets the link. Returns whether it reached a worker.
    bool remove(LinkKey key);

    Link* find(LinkKey key);
    Link* of(WorkerId worker) const;  // null while it is disconnected
    std::map<LinkKey, Link>& all() { return links_; }
    std::size_t without_hello() const;
    // Returns untrusted links that missed their hello limit, each once.
    Link* next_silent(Instant now);
    std::optional<Instant> next_hello_limit() const;

    // Sent with the next flush().
    void send_message(Link& link, const net::messages::Message& message);
    void send_message(WorkerId worker,
                      const net::messages::Message& message);  // ignored while it is disconnected
    // Sends this as the last message. The link stays until remove().
    void close(Link& link, const net::messages::Message& last);
    bool has_unsent() const { return !unsent_.empty(); }
    bool flush();  // returns whether it sent tasks

  private:
    std::map<LinkKey, Link> links_;
    std::unordered_map<WorkerId, Link*> workers_;
    std::vector<LinkKey> unsent_;  // links with messages of this turn
    bool tasks_unsent_ = false;    // some of these messages carry tasks
    std::set<const net::frames::Transport*> untrusted_;
    std::deque<std::pair<Instant, LinkKey>> unheard_;  // untrusted links, by hello limit
};

// `#!` lines of a list: each worker runs them once, in order, before the tasks that follow them.
class EnvironmentLines {
  public:
    explicit EnvironmentLines(Links& links) : links_(links) {}

    // For these workers (empty: all), also if they join later.
    void add(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers);
    void send_lines(Link& link);  // the lines that the worker does not have yet
    // By position, from 1; null: none.
    const std::string* text(std::uint64_t position) const;

  private:
    struct Line {
        std::uint64_t position = 0;
        std::string text;
        std::vector<std::uint32_t> workers;
    };
    Links& links_;
    std::vector<Line> lines_;
};

}  // namespace wq::manager
