// A task that asks a worker's shell which variables a `#!` line has set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/line_taker.h"
#include "shared_list/replica/other_workers.h"
#include "shared_list/source/run_list.h"
#include "shared_list/store/list_place.h"
#include "shared_list/text/choice.h"

namespace wq::shared_list::source {

// Its command. The line follows as a comment, for the records.
std::string probe_of(const std::string& line);

// `output`: of the command, which succeeded. Error: a value makes no sense.
Result<replica::JumpVariables> answer_of(const std::string& output);

// Gives the lines of shared lists to the workers of one run, and marks them: what `runtask` does for itself,
// for all workers of a manager. It blocks in the stores of the lists, so it has a thread of its own
// (shared_source.h).
//
// A worker of the run has a seat. It runs as many lines at once as it has room for; `#!` lines one by one,
// each followed by a probe, a task that tells what the line has set. Who is told to go to another list goes
// when none of its lines runs any more.

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
    text::TryEnd end = text::TryEnd::ok;
    int exit_code = 0;
    std::string output;  // of a probe
};
using Event = std::variant<SeatJoined, SeatLeft, LineEnded>;

// ---- what the run shall do ----

struct RunEnvironment {
    WorkerId seat;
    std::string text;
};
// It runs after all earlier RunEnvironment of the seat.
struct RunLine {
    WorkerId seat;
    std::uint64_t ticket = 0;
    std::string command;
    std::uint64_t number = 0;  // in the list, from 1
    bool probe = false;        // its output is asked for
};
struct Forget {  // the seat left: its lines shall not run elsewhere
    std::uint64_t ticket = 0;
};
using DispatchOrder = std::variant<RunEnvironment, RunLine, Forget>;

struct DispatcherOptions {
    store::ListPlace place;          // of the first list
    bool once = false;               // ends when nothing is left that a worker of the run may run
    bool waits_for_workers = false;  // others may join when all have left
    // With `once`, a run that has something left does not end before so many seats have joined, or before
    // join_limit has passed: a line may be for the last of them.
    std::size_t expected_seats = 0;
    Duration join_limit = std::chrono::seconds(10);
    Duration poll = std::chrono::seconds(3);
    Duration lease = std::chrono::minutes(10);
    // How stores are made; empty: ssh::store_at(). Tests have their own.
    std::function<std::unique_ptr<store::ListStore>(const store::ListPlace&)> store{};
    std::function<void(const std::string&)> say;         // on this thread
    std::function<void(WorkerId, Instant)> beaten = {};  // a seat gave a sign of life; on this thread
};

struct Turn {
    std::vector<DispatchOrder> orders;
    Instant next;       // of the next turn, if nothing happens before
    bool over = false;  // nothing is left to do
    // The list cannot be used, and it is in vain to try again; the orders hold all the same.
    std::optional<Error> problem;
};

class Dispatcher {
  public:
    explicit Dispatcher(DispatcherOptions options) : options_(std::move(options)) {}

    // Handles events, and gives lines to seats with room. Not `gives`: the run stops, what runs may end.
    Turn run_turn(const std::vector<Event>& events, bool gives);

    // Handles events of the end of a run, and gives nothing.
    void handle_events(const std::vector<Event>& events);
    // The run ends: lines that still run are `#lost`, and signs are removed.
    Status close();
    // Whether a line has failed or was left.
    bool failed() const;

  private:
    struct Line {
        std::uint64_t number = 0;
        std::string begun;
        std::string command;
    };
    struct Seat {
        explicit Seat(Duration length) : lease(length) {}

        std::string name;
        std::uint32_t jobs = 1;
        std::string list;                           // name of the place
        std::unique_ptr<replica::LineTaker> taker;  // none: it has not joined the list
        text::WorkerId id = 0;                      // of one that has joined
        replica::Lease lease;
        std::map<std::uint64_t, Line> running;  // by ticket
        std::optional<std::uint64_t> probe;     // ticket; nothing new begins before it has ended
        bool unanswered = false;                // its last step: perhaps it has begun a line
        bool retired = false;                   // it gets nothing any more

        // Of one that goes from list to list.
        std::optional<replica::Jump> jump;  // to be made
        std::optional<text::WorkerId> wanted;
        std::uint64_t place = 0;  // in the list that it joins
        Instant join_at{};        // not before
        int idle_moves = 0;       // one after the other, without a line between
        bool ran_here = false;    // a line since it joined
    };

    // Of seats.
    void take(const SeatJoined& event, Turn& turn);
    void take(const SeatLeft& event, Turn& turn);
    void take(const LineEnded& event, Turn& turn);
    void handle_probe(Seat& seat, const LineEnded& event);
    Status join(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    Status beat(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    void note_signs(const std::string& list, Instant given);
    void leave(Seat& seat);
    void retire(Seat& seat, const Error& error);
    void move(Seat& seat);

    // Of lines.
    Status give_lines(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    Result<bool> step(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    void order(WorkerId number, Seat& seat, RunList& list, const text::Choice& choice, Turn& turn);
    // They run elsewhere, or may soon: they end here, and their ends are no matter to others.
    void give_up_lines(Seat& seat, const std::function<bool(const Line&)>& which, Turn& turn);

    // Of a turn.
    RunList& list_at(const store::ListPlace& place);
    void serve(Turn& turn);
    Status serve(WorkerId number, Seat& seat, RunList& list, Turn& turn);
    bool runs_lines() const;
    Status keep(const std::string& name, RunList& list, Turn& turn);
    Instant next(Instant now) const;
    bool over() const;
    bool over_without_seats() const;
    bool more_seats_are_expected() const;
    bool something_is_left() const;

    DispatcherOptions options_;
    std::map<std::string, RunList> lists_;  // by name of the place
    std::map<WorkerId, Seat> seats_;
    std::uint64_t tickets_ = 0;
    std::size_t seats_joined_ = 0;
    Instant started_ = instant_now();
    bool gives_ = true;   // in this turn
    bool moved_ = false;  // something was recorded or left that others may wait for
};

}  // namespace wq::shared_list::source
