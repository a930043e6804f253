// What a rank and its launcher say to each other: length-prefixed messages over a stream socket, many to a
// write. Both ends are the same program on the same machine, so there is no version; but a torn or wrong
// message is still a value, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "host/launcher.h"

namespace wq::host {

// rank -> launcher. An order's serial counts the orders of a rank from 1 and names it in what follows.
struct OrderMessage {
    std::uint64_t serial = 0;
    Order order;
};
struct KillMessage {
    TaskId task;
    Attempt attempt = 0;
};
struct RecallMessage {
    std::uint64_t most = 0;
};
struct KillAllMessage {};
struct CloseMessage {};
using Command = std::variant<LauncherOptions, EnvironmentLine, OrderMessage, KillMessage, RecallMessage,
                             KillAllMessage, CloseMessage>;

// launcher -> rank: a report, and the serial of the order that it settles (0: none).
struct ReportMessage {
    std::uint64_t serial = 0;
    Report report;  // never LauncherDied
};

void append(std::string& batch, const Command& command);
void append_order(std::string& batch, std::uint64_t serial, const Order& order);
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

// Writes as much as the socket takes and removes it from the front. False: the other end is gone.
bool send_some(int socket, std::string& bytes);

}  // namespace wq::host
