// Bytes of the core's values, as fields of messages.
#pragma once

#include "base/bytes.h"
#include "base/interval_set.h"
#include "core/outcome.h"
#include "core/resources.h"

namespace wq::wire {

void put(ByteWriter& out, const core::Resources& value);
void get(ByteReader& in, core::Resources& value);
void put(ByteWriter& out, const core::Needs& value);
void get(ByteReader& in, core::Needs& value);
void put(ByteWriter& out, const core::Outcome& value);
void get(ByteReader& in, core::Outcome& value);
void put(ByteWriter& out, const IntervalSet& value);  // gaps and lengths
void get(ByteReader& in, IntervalSet& value);

}  // namespace wq::wire
