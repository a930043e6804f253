// The messages between a rank and its launcher: length-prefixed, over a stream socket, many per write. Both
// ends are the same program on the same machine, so there is no version. A truncated or invalid message is
// reported as a value and never causes a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/time.h"
#include "node/launcher/options.h"
#include "node/launcher/reports.h"
#include "node/process/order.h"

namespace wq::node::launcher {

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
    Report report;  // never LauncherDied
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
