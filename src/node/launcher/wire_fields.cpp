#include "node/launcher/wire_fields.h"

#include "engine/model/codec.h"

namespace wq::node::launcher {

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
