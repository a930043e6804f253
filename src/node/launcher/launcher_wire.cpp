#include "node/launcher/launcher_wire.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/fields.h"
#include "engine/model/codec.h"

namespace wq::node::process {

template <class V>
void fields(Call& call, V& visit) {
    visit(call.function, call.arguments);
}
template <class V>
void fields(Order& order, V& visit) {
    visit(order.task, order.attempt, order.give, order.timeout, order.watch, order.environment_position,
          order.text, order.argv, order.variables, order.sets_variables, order.output_limit, order.call,
          order.directory, order.own_folder);
}
template <class V>
void fields(OrderMessage& message, V& visit) {
    visit(message.serial, message.order);
}

}  // namespace wq::node::process

namespace wq::node::launcher {

template <class V>
void fields(EnvironmentLine& line, V& visit) {
    visit(line.position, line.text);
}
template <class V>
void fields(LauncherOptions& options, V& visit) {
    visit(options.slice, options.shell, options.scratch, options.working_directory, options.environment,
          options.output_limit, options.environment_lines, options.work_in_scratch);
}
template <class V>
void fields(KillMessage& kill, V& visit) {
    visit(kill.task, kill.attempt);
}
template <class V>
void fields(RecallMessage& recall, V& visit) {
    visit(recall.most);
}
template <class V>
void fields(EnterMessage& enter, V& visit) {
    visit(enter.directory);
}
template <class V>
void fields(KeepMessage& keep, V& visit) {
    visit(keep.until);
}

template <class V>
void fields(TaskStarted& report, V& visit) {
    visit(report.task, report.attempt);
}
template <class V>
void fields(TaskEnded& report, V& visit) {
    std::optional<engine::model::Measured>& measured = report.outcome.measured;
    visit(report.task, report.attempt, report.outcome, measured);
    // Not among the fields of Measured: the journal's version 1 has these without it.
    if (measured) visit(measured->disk_wait);
    visit(report.output, report.output.result, report.output.monitor, report.files);
}
template <class V>
void fields(OrderReturned& report, V& visit) {
    visit(report.task, report.attempt);
}
template <class V>
void fields(EnvironmentOutput& report, V& visit) {
    visit(report.position, report.exit_code, report.output);
}
template <class V>
void fields(EnvironmentExit& report, V& visit) {
    visit(report.position, report.exit_code);
}
template <class V>
void fields(LauncherDied&, V& visit) {
    visit.require(false);  // the rank makes it; nobody sends it
}

namespace {

using Length = std::uint32_t;

// Writes a message with its length in front.
template <class Body>
void frame(std::string& batch, Body&& body) {
    ByteWriter out;
    body(out);
    const auto length = static_cast<Length>(out.size());
    batch.append(reinterpret_cast<const char*>(&length), sizeof length);
    batch += out.bytes();
}

}  // namespace

void append_order(std::string& batch, std::uint64_t serial, const process::Order& order) {
    constexpr std::size_t kind = 2;
    static_assert(std::is_same_v<std::variant_alternative_t<kind, Command>, process::OrderMessage>);
    frame(batch, [&](ByteWriter& out) {
        out.u8(kind);
        put_fields(out, serial, order);
    });
}

void append(std::string& batch, const Command& command) {
    frame(batch, [&](ByteWriter& out) { put_message(out, command); });
}

void append(std::string& batch, const ReportMessage& message) {
    frame(batch, [&](ByteWriter& out) {
        out.u64(message.serial);
        put_message(out, message.report);
    });
}

std::optional<Command> decode_command(std::string_view message) {
    return message_in<Command>(message);
}

std::optional<ReportMessage> decode_report(std::string_view message) {
    ByteReader in(message);
    std::optional<ReportMessage> result(std::in_place);
    result->serial = in.u64();
    get_message(in, result->report);
    if (!in.at_end()) result.reset();
    return result;
}

bool MessageStream::receive(int socket) {
    bytes_.erase(0, at_);
    at_ = 0;
    std::array<char, 64u << 10> chunk;
    for (int round = 0; round < 16; ++round) {
        const ssize_t got = recv(socket, chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        bytes_.append(chunk.data(), static_cast<std::size_t>(got));
        if (static_cast<std::size_t>(got) < chunk.size()) return true;
    }
    return true;
}

std::optional<std::string_view> MessageStream::next() {
    Length length = 0;
    if (bytes_.size() - at_ < sizeof length) return std::nullopt;
    std::memcpy(&length, bytes_.data() + at_, sizeof length);
    if (bytes_.size() - at_ - sizeof length < length) return std::nullopt;
    const std::string_view message = std::string_view(bytes_).substr(at_ + sizeof length, length);
    at_ += sizeof length + length;
    return message;
}

bool SendBuffer::send(int socket) {
    bool alive = true;
    while (!empty()) {
        const ssize_t put = ::send(socket, bytes_.data() + sent_, size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0) {
            alive = errno == EAGAIN || errno == EINTR;
            break;
        }
        sent_ += static_cast<std::size_t>(put);
    }
    if (empty() || sent_ > bytes_.size() / 2) bytes_.erase(0, std::exchange(sent_, 0));
    return alive;
}

}  // namespace wq::node::launcher
