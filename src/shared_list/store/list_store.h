// A store keeps a shared list on this machine (local_store.h), or on a master that is reached by ssh
// (ssh_store.h). It reads and changes the list under the list's lock, and knows no grammar.
//
// Beside the list FILE are:
//   FILE.lock           flock(2) of it is held for each exchange; the same as DistributedTaskQueue's
//   FILE.runtask/edits  the log: what workers did to the list since it was last rewritten, and before
//   FILE.runtask/edits.1   the log before that one
//   FILE.runtask/alive/K   one for each worker that lives, touched by it
//   FILE.runtask/old/N.SIZE   earlier files of the list (links), and how many bytes of them are in the list
// If the name of the list is a symbolic link, FILE is what it leads to: all names of a list share one lock.
//
// Why a log: rewriting a list of 100,000 lines (5 MB) for each task takes 10 ms and more; an appended record
// takes 0.2 ms with its fdatasync, is what other workers need to follow, and says after a lost connection
// whether the last request was carried out.
//
// The log is text, a line a record: `LOG NAME` first (a log that begins anew has another name), then lines
// that the workers write (shared_list/text/edit.h), and `FILE IDENTITY`, which the store writes when it has
// rewritten the list: the file with this identity has all records above. A crash between that line and the
// rename leaves a file with an earlier identity, whose missing records stand below its own line. A line
// `TURN NAME` asks others to let a worker go first (shared_list/replica/record_log.h).
//
// An identity is "INODE SIZE MTIME" with nanoseconds: another one means that somebody else edited the list.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/text/document.h"

namespace wq::shared_list::store {

// What a worker knows of the store.
struct Version {
    std::string log;              // its name; "": none is known
    std::uint64_t log_bytes = 0;  // so many are known
    std::string file;             // identity of the list
    bool operator==(const Version&) const = default;
};

struct Request {
    Version known;
    bool send_file = false;  // send the list, also if its identity is the known one
    // Do not send a list of another identity if the log's new part has its line `FILE IDENTITY`: who follows
    // the log can make it.
    bool follows_log = false;

    // The change, made if `known` is how things are, and not otherwise. Records are appended first.
    std::string records;                // whole lines; "": none
    std::vector<text::Splice> splices;  // of the list as it stands
    bool rewrite = false;               // by the splices; without any, only its FILE line is written
    bool new_log = false;               // begin a new log, which has `records` only
    // With `rewrite`: the list as it stands is kept beside it, as FILE.put_aside; letters and digits, '.',
    // '-'.
    std::string put_aside;
    std::vector<std::string> copied_old;  // OldFile::name: now wholly in the list
    bool empty() const { return records.empty() && !rewrite && !new_log && copied_old.empty(); }
};

// Bytes that somebody appended to an earlier file of the list, who had opened it before it was replaced.
struct OldFile {
    std::string name;      // its number, and how many bytes are in the list with and without these
    std::string appended;  // whole lines; a last one without LF waits until it has one
};

struct Answer {
    bool changed = false;  // the change was made
    Version now;           // after it
    // Of the log: bytes since known.log_bytes, or all if known.log is another one. Without what this request
    // appended.
    bool whole_log = false;
    std::string log;
    std::optional<std::string> file;  // if asked for, or if its identity is not the known one
    // With `file`: the identity of a next list that was not put in place, since its writer died or still
    // writes. The log may have its line `FILE IDENTITY` all the same.
    std::string left_aside;
    std::vector<OldFile> old;
    Duration rewriting{0};  // how long the rewriting took, or more, for fewer of them: see rewriting_time()
};

// A sign of life.
struct Sign {
    text::WorkerId worker = 0;
    Duration age{0};    // since the last touch, by the clock of the list's file system
    Duration lease{0};  // the worker is lost at this age; 0: never

    bool lives() const { return lease == Duration{0} || age < lease; }
};

// The master's clock.
struct MasterTime {
    WallMicros now{};
    Duration east_of_utc{0};
};

class ListStore {
  public:
    virtual ~ListStore() = default;

    // For messages: "tasks.sh", "user@host:tasks.sh".
    virtual std::string name() const = 0;

    // Makes a missing list (empty), its lock and its folder. Errors: a directory, not readable or writable,
    // a host that refuses: with the remedy. Call it first.
    virtual Status open() = 0;

    // Instead of open(), for who only looks: makes nothing, and needs no permission to write. Then only
    // read(), previous_log(), signs() and time() may be called. Error bad_input: there is no list.
    virtual Status open_to_read() { return open(); }
    // The list, its whole log and what was appended to old files, without the lock: nothing is waited for.
    // The log has all records of the list; it may lack the line `FILE IDENTITY` of a list that is being
    // replaced or was edited.
    virtual Result<Answer> read() {
        Request all;
        all.send_file = true;
        return exchange(all);
    }

    // Error: the connection was lost (unreachable; whether the change was made is unknown; the next call
    // connects anew), or the change could not be made and nothing was (a full disk, no permission). A disk
    // that fails while it stores the change is `unreachable`, too.
    virtual Result<Answer> exchange(const Request& request) = 0;

    // The whole log before the present one; "": there is none. Nobody need hold the lock.
    virtual Result<std::string> previous_log() = 0;

    // Appends the line `TURN NAME` to the log, whatever others have done to it.
    virtual Status ask_for_turn(const std::string& name) = 0;

    // A text that is another one when the list or its log has changed, if it costs next to nothing; else
    // nullopt.
    virtual std::optional<std::string> state() { return std::nullopt; }

    // Writes the sign of a worker. `lease`: see Sign. From then on until remove_sign(), it is written again
    // and again while this store waits for the lock, and by renew_signs().
    virtual Status beat(text::WorkerId worker, Duration lease) = 0;
    virtual Status remove_sign(text::WorkerId worker) = 0;
    // Writes signs that are due again; costs nothing if none is.
    virtual Status renew_signs() = 0;
    // A master whose `stat` is neither GNU's nor BusyBox's has none: nobody is known to be lost.
    virtual Result<std::vector<Sign>> signs() = 0;

    // `given`: called when signs were written again; they are not older than this.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): stores keep the function
    virtual void on_signs(std::function<void(Instant)> given) { (void)given; }

    virtual Result<MasterTime> time() = 0;

    // Holds the lock until the object is destroyed; waits for it. For `runtask --lock`.
    class Held {
      public:
        virtual ~Held() = default;
        // Readable once the lock is lost, with the connection; -1: it cannot be lost.
        virtual int descriptor() const { return -1; }
    };
    virtual Result<std::unique_ptr<Held>> hold() = 0;
};

}  // namespace wq::shared_list::store
