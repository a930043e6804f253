// What a rank and its launcher say to each other: length-prefixed messages over a stream socket, many to a
// write. Both ends are the same program on the same machine, so there is no version; but a torn or wrong
// message is still a value, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "launcher/launcher.h"

namespace wq::launcher {

// rank -> launcher. An order's serial counts the orders of a rank from 1 and names it in what follows.
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
struct CloseMessage {};
using Command = std::variant<LauncherOptions, EnvironmentLine, process::OrderMessage, KillMessage,
                             RecallMessage, KillAllMessage, EnterMessage, CloseMessage>;

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

// Cuts a stream of bytes into messages.
class MessageStream {
  public:
    // Reads what is there from a non-blocking socket, up to about a MiB. False: the other end is gone.
    bool receive(int socket);
    // The next whole message; it points into this object until the next receive().
    std::optional<std::string_view> next();

  private:
    std::string bytes_;
    std::size_t at_ = 0;
};

// Bytes on their way into a socket. What has left is cut off in large pieces: a result may have a GiB, of
// which a socket takes some 200 KiB at a time.
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
    // As much as the socket takes. False: the other end is gone.
    bool send(int socket);

  private:
    std::string bytes_;
    std::size_t sent_ = 0;
};

}  // namespace wq::launcher
