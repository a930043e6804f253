// Writes and reads the fields of the launcher's messages. Each pair of functions stands side by side.
#pragma once

#include "base/bytes.h"
#include "node/launcher/options.h"
#include "node/process/order.h"

namespace wq::node::launcher {

void write_field(ByteWriter& out, const machine::Slice& slice);
machine::Slice read_slice(ByteReader& in);

void write_field(ByteWriter& out, const LauncherOptions& options);
LauncherOptions read_options(ByteReader& in);

void write_field(ByteWriter& out, const process::Order& order);
process::Order read_order(ByteReader& in);

inline void write_task(ByteWriter& out, TaskId task, Attempt attempt) {
    out.u64(task.value());
    out.u64(attempt);
}

// Reads any message that begins with the task and its attempt.
template <class Message>
Message read_task(ByteReader& in) {
    Message message;
    message.task = TaskId(in.u64());
    message.attempt = in.u32();
    return message;
}

}  // namespace wq::node::launcher
