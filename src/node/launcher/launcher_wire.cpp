#include "node/launcher/launcher_wire.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "engine/model/codec.h"

namespace wq::node::launcher {

namespace {

enum class CommandTag : std::uint8_t { options, line, order, kill, recall, kill_all, enter, keep, close };
enum class ReportTag : std::uint8_t { started, ended, returned, environment_output, environment_exit };

using Length = std::uint32_t;

// Writes a message with its length in front.
template <class Tag, class Body>
void frame(std::string& batch, Tag tag, Body&& body) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(tag));
    body(out);
    const auto length = static_cast<Length>(out.size());
    batch.append(reinterpret_cast<const char*>(&length), sizeof length);
    batch += out.bytes();
}

struct CommandWriter {
    std::string& batch;
    void operator()(const LauncherOptions& options) const {
        frame(batch, CommandTag::options, [&](ByteWriter& out) { write_field(out, options); });
    }
    void operator()(const EnvironmentLine& line) const {
        frame(batch, CommandTag::line, [&](ByteWriter& out) { out.u64(line.position), out.blob(line.text); });
    }
    void operator()(const process::OrderMessage& message) const {
        append_order(batch, message.serial, message.order);
    }
    void operator()(const KillMessage& kill) const {
        frame(batch, CommandTag::kill,
              [&](ByteWriter& out) { out.u64(kill.task.value()), out.u64(kill.attempt); });
    }
    void operator()(const RecallMessage& recall) const {
        frame(batch, CommandTag::recall, [&](ByteWriter& out) { out.u64(recall.most); });
    }
    void operator()(const KillAllMessage&) const {
        frame(batch, CommandTag::kill_all, [](ByteWriter&) {});
    }
    void operator()(const EnterMessage& enter) const {
        frame(batch, CommandTag::enter, [&](ByteWriter& out) { out.blob(enter.directory); });
    }
    void operator()(const KeepMessage& keep) const {
        frame(batch, CommandTag::keep,
              [&](ByteWriter& out) { out.i64(keep.until.time_since_epoch().count()); });
    }
    void operator()(const CloseMessage&) const {
        frame(batch, CommandTag::close, [](ByteWriter&) {});
    }
};

struct ReportWriter {
    std::string& batch;
    std::uint64_t serial;
    template <class Body>
    void write(ReportTag tag, Body&& body) const {
        frame(batch, tag, [&](ByteWriter& out) {
            out.u64(serial);
            body(out);
        });
    }
    void operator()(const TaskStarted& report) const {
        write(ReportTag::started, [&](ByteWriter& out) { write_task(out, report.task, report.attempt); });
    }
    void operator()(const TaskEnded& report) const {
        write(ReportTag::ended, [&](ByteWriter& out) {
            write_task(out, report.task, report.attempt);
            put(out, report.outcome);
            out.boolean(report.outcome.measured.has_value());
            if (report.outcome.measured) put(out, *report.outcome.measured);
            put(out, report.output);
            out.blob(report.output.result);
            out.boolean(report.output.monitor.has_value());
            if (report.output.monitor) put(out, *report.output.monitor);
            for (const std::string& file : report.files) out.blob(file);
        });
    }
    void operator()(const OrderReturned& report) const {
        write(ReportTag::returned, [&](ByteWriter& out) { write_task(out, report.task, report.attempt); });
    }
    void operator()(const EnvironmentOutput& report) const {
        write(ReportTag::environment_output, [&](ByteWriter& out) {
            out.u64(report.position);
            out.i64(report.exit_code);
            put(out, report.output);
        });
    }
    void operator()(const EnvironmentExit& report) const {
        write(ReportTag::environment_exit,
              [&](ByteWriter& out) { out.u64(report.position), out.i64(report.exit_code); });
    }
    void operator()(const LauncherDied&) const {}
};

template <class Value>
std::optional<Value> checked(const ByteReader& in, Value value) {
    if (!in.at_end()) return std::nullopt;
    return value;
}

Report read_report(ByteReader& in, ReportTag tag) {
    switch (tag) {
        case ReportTag::started:
            return read_task<TaskStarted>(in);
        case ReportTag::ended: {
            auto report = read_task<TaskEnded>(in);
            get(in, report.outcome);
            if (in.boolean()) get(in, report.outcome.measured.emplace());
            get(in, report.output);
            report.output.result = in.blob();
            if (in.boolean()) get(in, report.output.monitor.emplace());
            for (std::string& file : report.files) file = in.blob();
            return report;
        }
        case ReportTag::returned:
            return read_task<OrderReturned>(in);
        case ReportTag::environment_output: {
            EnvironmentOutput report;
            report.position = in.u64();
            report.exit_code = static_cast<int>(in.i64());
            get(in, report.output);
            return report;
        }
        case ReportTag::environment_exit: {
            EnvironmentExit report;
            report.position = in.u64();
            report.exit_code = static_cast<int>(in.i64());
            return report;
        }
    }
    in.fail();
    return TaskStarted{};
}

}  // namespace

void append_order(std::string& batch, std::uint64_t serial, const process::Order& order) {
    frame(batch, CommandTag::order, [&](ByteWriter& out) {
        out.u64(serial);
        write_field(out, order);
    });
}

void append(std::string& batch, const Command& command) {
    std::visit(CommandWriter{batch}, command);
}

void append(std::string& batch, const ReportMessage& message) {
    std::visit(ReportWriter{batch, message.serial}, message.report);
}

std::optional<Command> decode_command(std::string_view message) {
    ByteReader in(message);
    switch (static_cast<CommandTag>(in.u8())) {
        case CommandTag::options: {
            LauncherOptions options = read_options(in);
            return checked<Command>(in, std::move(options));
        }
        case CommandTag::line: {
            EnvironmentLine line;
            line.position = in.u64();
            line.text = in.blob();
            return checked<Command>(in, std::move(line));
        }
        case CommandTag::order: {
            process::OrderMessage order;
            order.serial = in.u64();
            order.order = read_order(in);
            return checked<Command>(in, std::move(order));
        }
        case CommandTag::kill:
            return checked<Command>(in, read_task<KillMessage>(in));
        case CommandTag::recall: {
            const RecallMessage recall{in.u64()};
            return checked<Command>(in, recall);
        }
        case CommandTag::kill_all:
            return checked<Command>(in, KillAllMessage{});
        case CommandTag::enter:
            return checked<Command>(in, EnterMessage{std::string(in.blob())});
        case CommandTag::keep:
            return checked<Command>(in, KeepMessage{Instant(Duration(in.i64()))});
        case CommandTag::close:
            return checked<Command>(in, CloseMessage{});
    }
    return std::nullopt;
}

std::optional<ReportMessage> decode_report(std::string_view message) {
    ByteReader in(message);
    const auto tag = static_cast<ReportTag>(in.u8());
    ReportMessage result;
    result.serial = in.u64();
    result.report = read_report(in, tag);
    return checked(in, std::move(result));
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

void write_field(ByteWriter& out, const machine::Slice& slice) {
    out.u64(slice.cores.size());
    for (const auto& core : slice.cores) {
        out.u64(core.size());
        for (const int pu : core) out.i64(pu);
    }
    out.u64(slice.places.size());
    for (const machine::Place& place : slice.places)
        out.i64(place.package), out.i64(place.node), out.i64(place.cache);
    out.blobs(slice.gpus);
    out.u64(slice.gpu_nodes.size());
    for (const int node : slice.gpu_nodes) out.i64(node);
    out.blob(slice.gpu_variable);
    out.i64(slice.memory_mb), out.i64(slice.disk_mb), out.u8(static_cast<std::uint8_t>(slice.bind));
    out.boolean(slice.of_this_machine);
}

machine::Slice read_slice(ByteReader& in) {
    machine::Slice slice;
    slice.cores.resize(in.count());
    for (auto& core : slice.cores) {
        core.resize(in.count());
        for (int& pu : core) pu = static_cast<int>(in.i64());
    }
    slice.places.resize(in.count(3));
    for (machine::Place& place : slice.places) {
        place.package = static_cast<int>(in.i64());
        place.node = static_cast<int>(in.i64());
        place.cache = static_cast<int>(in.i64());
    }
    slice.gpus = in.blobs();
    slice.gpu_nodes.resize(in.count());
    for (int& node : slice.gpu_nodes) node = static_cast<int>(in.i64());
    slice.gpu_variable = in.blob();
    slice.memory_mb = in.i64();
    slice.disk_mb = in.i64();
    const std::uint8_t bind = in.u8();
    slice.bind = bind <= static_cast<std::uint8_t>(machine::Binding::node)
                     ? static_cast<machine::Binding>(bind)
                     : machine::Binding::none;
    slice.of_this_machine = in.boolean();
    return slice;
}

void write_field(ByteWriter& out, const LauncherOptions& options) {
    write_field(out, options.slice);
    out.blob(options.shell), out.blob(options.scratch), out.blob(options.working_directory);
    out.pairs(options.environment);
    out.u64(options.output_limit), out.boolean(options.environment_lines);
    out.boolean(options.work_in_scratch);
}

LauncherOptions read_options(ByteReader& in) {
    LauncherOptions options;
    options.slice = read_slice(in);
    options.shell = in.blob();
    options.scratch = in.blob();
    options.working_directory = in.blob();
    options.environment = in.pairs();
    options.output_limit = in.u64();
    options.environment_lines = in.boolean();
    options.work_in_scratch = in.boolean();
    return options;
}

void write_field(ByteWriter& out, const process::Order& order) {
    write_task(out, order.task, order.attempt);
    put(out, order.give);
    out.i64(order.timeout.count());
    put(out, order.watch);
    out.u64(order.environment_position);
    out.blob(order.text);
    out.blobs(order.argv);
    put(out, order.variables);
    out.boolean(order.sets_variables);
    out.boolean(order.output_limit.has_value());
    if (order.output_limit) out.u64(*order.output_limit);
    out.boolean(order.call.has_value());
    if (order.call) out.blob(order.call->function), out.blob(order.call->arguments);
    out.blob(order.directory);
    out.boolean(order.own_folder);
}

process::Order read_order(ByteReader& in) {
    auto order = read_task<process::Order>(in);
    get(in, order.give);
    order.timeout = Duration(in.i64());
    get(in, order.watch);
    order.environment_position = in.u64();
    order.text = in.blob();
    order.argv = in.blobs();
    get(in, order.variables);
    order.sets_variables = in.boolean();
    if (in.boolean()) order.output_limit = in.u64();
    if (in.boolean()) {
        process::Call& call = order.call.emplace();
        call.function = in.blob();
        call.arguments = in.blob();
    }
    order.directory = in.blob();
    order.own_folder = in.boolean();
    return order;
}

}  // namespace wq::node::launcher
