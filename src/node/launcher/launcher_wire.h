// The messages between a rank and its launcher: length-prefixed, over a stream socket, many per write. Both
// ends are the same program on the same machine, so there is no version. A truncated or invalid message is
// reported as a value and never causes a crash.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "engine/model/outcome.h"
#include "node/machine/layout.h"
#include "node/process/order.h"

namespace wq::node::launcher {

// A launcher's reports of its orders, and the lines that the launcher runs before them.

// A `#!` line that applies to this worker. Lines are sent once each, in order; `position` counts them from 1.
struct EnvironmentLine {
    std::uint64_t position = 0;
    std::string text;
};

struct TaskStarted {  // omitted if the task ended within the same batch of reports (a few ms)
    TaskId task;
    Attempt attempt;
};
struct TaskEnded {
    TaskId task;
    Attempt attempt;
    engine::model::Outcome outcome;
    engine::model::Output output;
    // Files with its stdout and stderr, if these are too large for `output`; whoever has the report removes
    // them. Empty: none.
    std::array<std::string, 2> files{};
};
struct OrderReturned {  // it had not started: after recall(), kill(), kill_all() or EnvironmentExit
    TaskId task;
    Attempt attempt;
};
struct EnvironmentOutput {  // a `#!` line that failed or wrote something
    std::uint64_t position = 0;
    int exit_code = 0;
    engine::model::Output output;
};
// A `#!` line ended the worker's shell with `exit` (or by a signal: 128 + its number). Orders below that line
// are returned as OrderReturned.
struct EnvironmentExit {
    std::uint64_t position = 0;
    int exit_code = 0;
};
struct LauncherDied {
    std::vector<std::pair<TaskId, Attempt>> started;      // were running: their attempts are lost
    std::vector<std::pair<TaskId, Attempt>> not_started;  // were queued: requeued at no cost
    std::string why;                                      // "killed by signal 9"
};
using Report =
    std::variant<TaskStarted, TaskEnded, OrderReturned, EnvironmentOutput, EnvironmentExit, LauncherDied>;

// What a launcher process is told when it is opened.
struct LauncherOptions {
    machine::NodeSlice slice;
    std::string shell;              // absolute path; runs lines that need a shell, as `shell -c LINE`
    std::string scratch;            // folder for the tasks' temporary directories (TMPDIR), made if missing;
                                    // empty: TMPDIR is unchanged
    std::string working_directory;  // empty: the one at start()
    std::vector<std::pair<std::string, std::string>> environment;  // set for every task, e.g. WORKERID
    std::uint64_t output_limit =
        8u << 20;  // bytes kept of each stream of a task; the rest is counted and marked
    // The list may have `#!` lines. A task below one runs in a subshell of the worker's shell.
    bool environment_lines = false;
    // Tasks run in the launcher's own folder below `scratch` instead of working_directory. WORK_QUEUE_SANDBOX
    // has its path. The files they leave there are removed with the folder.
    bool work_in_scratch = false;
};

// rank -> launcher. An order's serial counts the rank's orders from 1; reports name the order by it.
struct KillMessage {
    TaskId task;
    Attempt attempt = 0;
};
struct RecallMessage {
    std::uint64_t most = 0;
};
struct EnterMessage {
    std::string directory;
};
struct KillAllMessage {};
struct KeepMessage {
    Instant until;
};
struct CloseMessage {};
using Command = std::variant<LauncherOptions, EnvironmentLine, process::OrderMessage, KillMessage,
                             RecallMessage, KillAllMessage, EnterMessage, KeepMessage, CloseMessage>;

// launcher -> rank: a report, and the serial of the order that it settles (0: none).
struct ReportMessage {
    std::uint64_t serial = 0;
    Report report;  // LauncherDied cannot be sent: the rank makes it
};

void append(std::string& batch, const Command& command);
void append_order(std::string& batch, std::uint64_t serial, const process::Order& order);
void append(std::string& batch, const ReportMessage& message);

std::optional<Command> decode_command(std::string_view message);
std::optional<ReportMessage> decode_report(std::string_view message);

// Splits a stream of bytes into messages.
class MessageStream {
  public:
    // Reads available bytes from a non-blocking socket, up to about a MiB. False if the other end is gone.
    bool receive(int socket);
    // The next whole message; it points into this object until the next receive().
    std::optional<std::string_view> next();

  private:
    std::string bytes_;
    std::size_t at_ = 0;
};

// Bytes to be written to a socket. Written bytes are removed in large pieces, because a result may have a
// GiB, and a socket takes about 200 KiB at a time.
class SendBuffer {
  public:
    bool empty() const { return size() == 0; }
    std::size_t size() const { return bytes_.size() - sent_; }
    std::string& end() { return bytes_; }  // to append to
    void insert_front(std::string_view bytes) { bytes_.replace(0, std::exchange(sent_, 0), bytes); }
    void clear() {
        std::exchange(bytes_, {});
        sent_ = 0;
    }
    // Writes as much as the socket takes. False if the other end is gone.
    bool send(int socket);

  private:
    std::string bytes_;
    std::size_t sent_ = 0;
};

}  // namespace wq::node::launcher
