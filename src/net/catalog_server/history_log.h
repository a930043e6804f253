// The folder of a history, as CCTools' programs have it: FOLDER/YEAR/DAY.log has the changes of a day (of
// UTC; the first of a year is 0), FOLDER/YEAR/DAY.ckpt all records at its begin. FOLDER/heard is ours: when
// each record was last sent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/background.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "net/catalog/record_table.h"

namespace wq::net::catalog_server {

struct Day {
    int year = 0, day = 0;
    auto operator<=>(const Day&) const = default;
};
Day day_of(std::int64_t seconds);

class HistoryFiles {
  public:
    // Makes the folder if it is not there. Errors (bad_input): it cannot be used, or another server uses it.
    static Result<HistoryFiles> open(const std::string& folder);

    const std::string& folder() const { return folder_; }
    // Those that have a log or a checkpoint, oldest first.
    std::vector<Day> days() const;
    bool has(Day day, std::string_view kind) const;  // "log", "ckpt"

    // Not valid, with errno: there is none, or it is no plain file. No link is followed below the folder.
    Descriptor read(Day day, std::string_view kind) const;
    Descriptor read_heard() const;
    // For appending; the last line, if it has no end, gets one. Not valid: errno.
    Descriptor append_log(Day day) const;
    // Replaces a file by what `write` puts into the descriptor. False: errno.
    bool replace(Day day, std::string_view kind, const std::function<bool(int)>& write) const;
    bool replace_heard(std::string_view text) const;
    // The same in two steps, for long texts.
    Descriptor begin_checkpoint(Day day) const;
    bool end_checkpoint(Day day, int written) const;

    // Removes the oldest days until all have `most` bytes; the last one stays. Returns the bytes of all.
    std::int64_t remove_oldest(std::int64_t most) const;

  private:
    HistoryFiles(std::string folder, Descriptor root) : folder_(std::move(folder)), root_(std::move(root)) {}
    Descriptor make_year(Day day) const;
    Descriptor open_year(Day day) const;
    std::string folder_;
    Descriptor root_;  // locked
};

// Writes what happens to records into a history, on a thread of its own: a slow disk stalls no query.
//
// Lines wait in memory, up to a limit. If the disk fails, or is slower than the changes come, or a day has
// more of these than its part of the space, changes are left out; then the day begins anew with a
// checkpoint, once a minute at most. So the state after a restart is right, and a flood costs the history of
// its day, not that of others.
struct HistoryLimits {
    std::int64_t bytes = std::int64_t{1} << 30;           // of all files
    std::size_t waiting_bytes = 16 << 20;                 // of lines that are not written yet
    Duration checkpoint_every = std::chrono::minutes(1);  // at most
    Duration heard_every = std::chrono::seconds(30);
};

class HistoryLog final : public catalog::TableWatcher {
  public:
    using Say = std::function<void(const std::string&)>;
    using Clock = std::function<WallMicros()>;
    // Reads back into `table`, which must outlive it, what a server before has left and still lives, and
    // watches it from then on. `files` must outlive it, too.
    HistoryLog(const HistoryFiles& files, HistoryLimits limits, catalog::RecordTable& table,
               catalog::TableLimits of_table, Say say, Instant now, Clock wall);
    ~HistoryLog() override;  // writes all that it has

    void created(const std::string& key, const catalog::FlatRecord& record) override;
    void changed(const std::string& key, const catalog::FlatRecord& before,
                 const catalog::FlatRecord& after) override;
    void removed(const std::string& key) override;

    // Twice a second: writes.
    void tick(Instant now);
    // Call finish() when the descriptor is readable.
    int descriptor() const { return thread_.descriptor(); }
    void finish() { thread_.finish(); }
    // Waits until all is written.
    void settle();

  private:
    struct Writer;
    std::int64_t seconds();
    void restore(catalog::TableLimits of_table, Instant now);
    void line(std::string_view text);
    void flush();
    void post(std::function<int()> work, std::size_t bytes, std::function<void()> then = {});
    void leave_out(const std::string& why);
    void open_log();
    void begin_checkpoint(Instant now);
    void write_checkpoint();
    void end_checkpoint();
    void write_heard(Instant now);

    const HistoryFiles& files_;
    HistoryLimits limits_;
    catalog::RecordTable& table_;
    Say say_;
    std::shared_ptr<Writer> writer_;  // of the thread
    std::string lines_;
    std::size_t waiting_ = 0;
    Clock wall_;
    std::int64_t latest_ = 0;        // s since 1970: it never goes back
    std::int64_t written_time_ = 0;  // in the log
    Day day_{};
    std::int64_t day_bytes_ = 0;   // of its log
    std::int64_t tail_bytes_ = 0;  // of these, newer than the begin of the last checkpoint
    bool leaves_out_ = false;      // changes, until a checkpoint
    bool cuts_ = false;            // the next checkpoint removes what is older than it from the log
    bool said_ = false;
    Instant next_checkpoint_{}, next_heard_{}, next_cleaning_{};
    bool checkpoints_ = false;      // one is being written
    bool checkpoint_first_ = true;  // its first piece
    std::optional<catalog::RecordTable::ListKey> checkpoint_at_;
    BackgroundThread thread_;
};

}  // namespace wq::net::catalog_server
