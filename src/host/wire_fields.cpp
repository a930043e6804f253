#include "host/wire_fields.h"

namespace wq::host {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void write_field(ByteWriter& out, const std::vector<std::string>& texts) {
    out.u64(texts.size());
    for (const std::string& text : texts) out.blob(text);
}

std::vector<std::string> read_texts(ByteReader& in) {
    std::vector<std::string> texts(in.count());
    for (std::string& text : texts) text = in.blob();
    return texts;
}

void write_field(ByteWriter& out, const Pairs& pairs) {
    out.u64(pairs.size());
    for (const auto& [name, value] : pairs) out.blob(name), out.blob(value);
}

Pairs read_pairs(ByteReader& in) {
    Pairs pairs(in.count(2));
    for (auto& [name, value] : pairs) {
        name = in.blob();
        value = in.blob();
    }
    return pairs;
}

void write_field(ByteWriter& out, const core::Resources& amount) {
    out.i64(amount.cores), out.i64(amount.memory_mb), out.i64(amount.disk_mb), out.i64(amount.gpus);
}

core::Resources read_resources(ByteReader& in) {
    core::Resources amount;
    amount.cores = in.i64();
    amount.memory_mb = in.i64();
    amount.disk_mb = in.i64();
    amount.gpus = in.i64();
    return amount;
}

}  // namespace

void write_field(ByteWriter& out, const Slice& slice) {
    out.u64(slice.cores.size());
    for (const auto& core : slice.cores) {
        out.u64(core.size());
        for (const int pu : core) out.i64(pu);
    }
    write_field(out, slice.gpus);
    out.blob(slice.gpu_variable);
    out.i64(slice.memory_mb), out.i64(slice.disk_mb), out.boolean(slice.bind);
}

Slice read_slice(ByteReader& in) {
    Slice slice;
    slice.cores.resize(in.count());
    for (auto& core : slice.cores) {
        core.resize(in.count());
        for (int& pu : core) pu = static_cast<int>(in.i64());
    }
    slice.gpus = read_texts(in);
    slice.gpu_variable = in.blob();
    slice.memory_mb = in.i64();
    slice.disk_mb = in.i64();
    slice.bind = in.boolean();
    return slice;
}

void write_field(ByteWriter& out, const LauncherOptions& options) {
    write_field(out, options.slice);
    out.blob(options.shell), out.blob(options.scratch), out.blob(options.working_directory);
    write_field(out, options.environment);
    write_field(out, options.unset_prefixes);
    out.u64(options.output_limit), out.boolean(options.environment_lines);
}

LauncherOptions read_options(ByteReader& in) {
    LauncherOptions options;
    options.slice = read_slice(in);
    options.shell = in.blob();
    options.scratch = in.blob();
    options.working_directory = in.blob();
    options.environment = read_pairs(in);
    options.unset_prefixes = read_texts(in);
    options.output_limit = in.u64();
    options.environment_lines = in.boolean();
    return options;
}

void write_field(ByteWriter& out, const Order& order) {
    write_task(out, order.task, order.attempt);
    write_field(out, order.give);
    out.i64(order.timeout.count()), out.i64(order.memory_limit_mb), out.u64(order.environment_position);
    out.blob(order.text);
    write_field(out, order.argv);
    write_field(out, order.variables);
}

Order read_order(ByteReader& in) {
    auto order = read_task<Order>(in);
    order.give = read_resources(in);
    order.timeout = Duration(in.i64());
    order.memory_limit_mb = in.i64();
    order.environment_position = in.u64();
    order.text = in.blob();
    order.argv = read_texts(in);
    order.variables = read_pairs(in);
    return order;
}

void write_field(ByteWriter& out, const core::Outcome& outcome) {
    out.u8(static_cast<std::uint8_t>(outcome.ending));
    out.i64(outcome.exit_code), out.i64(outcome.signal), out.i64(outcome.started_us),
        out.i64(outcome.wall_us);
    out.i64(outcome.user_us), out.i64(outcome.system_us), out.i64(outcome.peak_memory_kb);
    out.i64(outcome.bytes_read), out.i64(outcome.bytes_written);
    out.u64(outcome.stdout_bytes), out.u64(outcome.stderr_bytes), out.blob(outcome.reason);
}

core::Outcome read_outcome(ByteReader& in) {
    core::Outcome outcome;
    const std::uint8_t ending = in.u8();
    if (ending > static_cast<std::uint8_t>(core::Ending::never_ran)) in.fail();
    outcome.ending = static_cast<core::Ending>(ending);
    outcome.exit_code = static_cast<int>(in.i64());
    outcome.signal = static_cast<int>(in.i64());
    outcome.started_us = in.i64();
    outcome.wall_us = in.i64();
    outcome.user_us = in.i64();
    outcome.system_us = in.i64();
    outcome.peak_memory_kb = in.i64();
    outcome.bytes_read = in.i64();
    outcome.bytes_written = in.i64();
    outcome.stdout_bytes = in.u64();
    outcome.stderr_bytes = in.u64();
    outcome.reason = in.blob();
    return outcome;
}

}  // namespace wq::host
