// A worker's copy of a shared list, kept equal to the list at the master, and changed together with it.
//
// All workers apply the records of one log in one order. A change is a record that is appended only if the
// log has not grown since the worker looked; else it looks again and decides anew. So the lock is never held
// while a worker thinks, or while a connection hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/list_copy.h"
#include "shared_list/replica/master_clock.h"
#include "shared_list/replica/record_log.h"
#include "shared_list/store/list_store.h"
#include "shared_list/text/document.h"
#include "shared_list/text/edit.h"
#include "shared_list/text/merge.h"

namespace wq::shared_list::replica {

using store::Answer;
using store::ListStore;
using store::OldFile;
using store::Request;
using store::Version;

class SharedList {
  public:
    // `say` gets lines for the user about what was found wrong at the master and mended.
    // `clock`: tests have their own.
    SharedList(ListStore& store, std::function<void(const std::string&)> say,
               std::function<Instant()> clock = instant_now);

    // Opens the store and reads the list.
    Status open();
    // Follows what others did since.
    Status refresh();
    const text::Document& list() const { return copy_.list(); }
    // The list's file system does not lock: no later call can succeed.
    bool lock_failed() const { return log_.lock_failed(); }
    // The list is not plain text (a NUL byte). Calls fail until somebody repairs the file.
    bool is_damaged() const { return is_damaged_; }

    // Asks `decide` what to do to the list as it stands, and does all of it or, if others were faster, asks
    // again. Returns the edits that were made; none: `decide` wanted none.
    //
    // After the error `unreachable` it is unknown whether the change was made. The next call for the same
    // purpose finds out; if so, it returns the edits that were made then, and asks nothing.
    using Decide = std::function<std::vector<text::Edit>(const text::Document&)>;
    Result<std::vector<text::Edit>> change(const std::string& purpose, const Decide& decide);

    // Called when others were faster, before each next try, and now and then while a change waits for the
    // turns of others: it waits for at most `pause`. An error ends what is under way, and nothing was
    // changed.
    void between_tries(std::function<Status(Duration pause)> call) { between_tries_ = std::move(call); }

    // Joins as `wanted`, or as the next worker; returns the id.
    Result<text::WorkerId> join(const std::string& name, std::optional<text::WorkerId> wanted);

    // Puts what `text` returns in the place of the whole list, and forgets what was done to it. An error that
    // `text` returns is returned.
    Status replace(const std::function<Result<std::string>(const text::Document&)>& text);
    // Forgets the same: the list as it stands in the file, and as somebody edits it next, is right.
    Status forget();

    // Somebody may be writing the list's last line, which has no LF. It is not in list(), and the list is not
    // rewritten, until it has one or has not changed for two seconds.
    bool has_unfinished_line() const { return !unlogged_.empty(); }

    // While edits come fast, the file lags behind its log: rewriting it takes at most a twentieth of the
    // time. When to call settle(); nullopt: the file is up to date.
    std::optional<Instant> unsettled() const;
    // Also prevents that a change of which no answer came is still made.
    Status settle();

    // The line that a worker ran last. The number follows when lines are put in front, or the list is edited
    // by others. 0: none, or it is gone.
    void move_to(std::uint64_t number, text::WorkerId worker = 0) { copy_.move_to(number, worker); }
    std::uint64_t place(text::WorkerId worker = 0) const { return copy_.place(worker); }

    // "MM-DD HH:MM:SS" of the master's clock.
    std::string stamp() const { return clock_.stamp(); }

  private:
    struct Pending {  // a change of which no answer came
        std::string token;
        std::string log;  // its name
        std::vector<text::Edit> edits;
    };
    Result<Answer> exchange(const Request& request);
    Status follow_store();
    Status await_turn();
    Status try_again(Tries& tries);
    Status before_next_try(Tries& tries);
    Status follow(const Answer& answer);
    Status read_file();
    Result<bool> take_answer(const Answer& answer);
    Status take_file(const Answer& answer);
    Error damage(const Error& why) {
        is_damaged_ = true;
        return {why.code, store_.name() + ": " + why.message};
    }
    Result<bool> adopt(const Answer& answer);
    Result<bool> take_whole_lines(const Answer& answer);
    void catch_up();
    Result<text::Merged> with_history(const Answer& answer, std::string_view bytes, bool is_edited);
    bool is_known(const std::string& identity) const;
    std::string appended_to(const std::string& file);
    std::optional<std::vector<text::Edit>> take_pending(const std::string& purpose);
    Status copy_old_files();
    Result<bool> make_edits(const std::string& purpose, std::vector<text::Edit> edits, Request request);
    Result<std::uint64_t> waiting_again(const text::Merged& merged);
    Result<bool> put_aside(const Answer& answer, std::uint64_t waiting_again);
    text::Record record(std::vector<text::Edit> edits);
    std::string line_of(const text::Record& record) const;
    void rewrite_if_due(Request& request);
    Result<bool> make_change(const Request& request);
    bool was_made(const Pending& sent) const;
    enum class Log : std::uint8_t { keep, empty };
    Status write_now(Log log);
    void begin_log(Request& request, std::uint64_t most_bytes) const;

    ListStore& store_;
    std::function<void(const std::string&)> say_;
    std::function<Instant()> now_;
    std::function<Status(Duration)> between_tries_;
    std::optional<std::uint64_t> turn_;  // Turns::first() as it was first waited for,
    Instant turn_seen_{};                // and when
    Version known_;
    RecordLog log_;
    ListCopy copy_;
    // The copy was made from the whole lines of this list, of which the log was not told; see LooseEnd.
    std::string unlogged_;
    LooseEnd loose_end_;
    bool is_damaged_ = false;
    bool joined_ = false;
    std::map<std::string, std::vector<Pending>> pending_;  // by purpose
    std::vector<OldFile> old_;                             // as of the last answer
    Answer refused_;                                       // of a change that others were faster than
    Duration rewriting_{0};
    std::string token_;
    std::uint64_t tokens_ = 0;
    MasterClock clock_;
};

}  // namespace wq::shared_list::replica
