// Gives the lines of shared lists to the workers of one run, and marks them: what `runtask` does for itself,
// for all workers of a manager. It blocks in the stores of the lists, so it has a thread of its own
// (shared_source.h).
//
// A worker of the run has a seat. It runs as many lines at once as it has cores; `#!` lines one by one, each
// followed by a probe, a task that tells what the line has set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "list_store/list_place.h"
#include "marked_list/choice.h"
#include "shared_list/line_taker.h"
#include "shared_run/run_list.h"

namespace wq::shared_run {

// ---- what happens in the run ----

struct SeatJoined {
    WorkerId seat;
    std::string name;        // for the list: host and address
    std::uint32_t jobs = 1;  // lines that it runs at once
};
struct SeatLeft {
    WorkerId seat;
};
struct LineEnded {
    std::uint64_t ticket = 0;
    marked_list::TryEnd end = marked_list::TryEnd::ok;
    int exit_code = 0;
    std::string output;  // of a probe
};
using Event = std::variant<SeatJoined, SeatLeft, LineEnded>;

// ---- what the run shall do ----

struct RunEnvironment {
    WorkerId seat;
    std::string text;
};
// After all earlier RunEnvironment of the seat.
struct RunLine {
    WorkerId seat;
    std::uint64_t ticket = 0;
    std::string command;
    std::uint64_t number = 0;  // in the list, from 1
    bool probe = false;        // its output is wanted
};
struct Forget {  // the seat left: its lines shall not run elsewhere
    std::uint64_t ticket = 0;
};
using Order = std::variant<RunEnvironment, RunLine, Forget>;

struct DispatcherOptions {
    list_store::ListPlace place;     // of the first list
    bool once = false;               // ends when nothing is left that a worker of the run may run
    bool waits_for_workers = false;  // others may join when all have left
    Duration poll = std::chrono::seconds(3);
    Duration lease = std::chrono::minutes(10);
    // How stores are made; empty: store_at(). Tests have their own.
    std::function<std::unique_ptr<list_store::ListStore>(const list_store::ListPlace&)> store{};
    std::function<void(const std::string&)> say;  // on this thread
};

struct Turn {
    std::vector<Order> orders;
    Instant next;       // of the next turn, if nothing happens before
    bool over = false;  // nothing is left to do
    // From when on others may take the lines of a seat, unless a turn ends before: then they must not run on.
    std::map<WorkerId, Instant> lapses;
    // The first list cannot be used, or none can be trusted. The orders hold all the same.
    std::optional<Error> problem;
};

class Dispatcher {
  public:
    explicit Dispatcher(DispatcherOptions options) : options_(std::move(options)) {}

    // Takes events, and gives lines to seats with room.
    Turn turn(const std::vector<Event>& events);

    // Takes events of the end of a run, and gives nothing.
    void note(const std::vector<Event>& events);
    // The run ends: lines that still run are `#lost`, and signs are removed.
    Status close();
    // Whether a line has failed, or waits for one that has.
    bool failed() const;

  private:
    struct Line {
        std::uint64_t number = 0;
        std::string begun;
        std::string command;
    };
    struct Jump {
        std::string list;  // name of the place
        std::optional<marked_list::WorkerId> id;
    };
    struct Seat {
        std::string name;
        std::uint32_t jobs = 1;
        std::string list;  // name of the place
        std::optional<marked_list::WorkerId> wanted;
        std::optional<marked_list::WorkerId> id;        // none: it has not joined the list
        std::map<std::uint64_t, Line> running;          // by ticket
        std::optional<std::uint64_t> probe;             // ticket; nothing new begins before it has ended
        std::optional<Jump> jump;                       // when nothing runs any more
        std::unique_ptr<shared_list::LineTaker> taker;  // none: it has not joined the list
        std::uint32_t idle_jumps = 0;                   // one after the other, without a line between
        Instant joins_at{};
    };

    void take(const SeatJoined& event, Turn& turn);
    void take(const SeatLeft& event, Turn& turn);
    void take(const LineEnded& event, Turn& turn);
    void take_probe(Seat& seat, const std::string& output);
    void carry_out_jump(Seat& seat);
    void leave(Seat& seat);
    void keep_lists(Instant now, Turn& turn);
    bool give_lines(WorkerId number, Seat& seat, Turn& turn);
    Status join(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    Result<bool> step(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    void order(WorkerId number, Seat& seat, RunList& list, const marked_list::Choice& choice, Turn& turn);
    void add_list(const list_store::ListPlace& place);
    void plan_next(Instant now, Turn& turn) const;
    void note(const Error& problem, RunList& list, Turn& turn);
    void leave_for_good(Seat& seat, const Error& problem);
    bool over() const;

    DispatcherOptions options_;
    std::map<std::string, RunList> lists_;  // by name of the place
    std::map<WorkerId, Seat> seats_;
    std::uint64_t tickets_ = 0;
    Instant looked_{};
    bool had_seats_ = false;
};

}  // namespace wq::shared_run
