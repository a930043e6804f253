// Encoding of the core's values: the one form in which they reach workers, launchers and the journal.
// Journals of older runs must stay readable, so a change here needs a new journal version.
#pragma once

#include "base/bytes.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"

namespace wq::engine::model {

void put(ByteWriter& out, const Resources& value);
void put(ByteWriter& out, const Needs& value);
void put(ByteWriter& out, const Outcome& value);  // without Outcome::measured
void put(ByteWriter& out, const Output& value);
void put(ByteWriter& out, const Watch& value);
void put(ByteWriter& out, const Measured& value);
void put(ByteWriter& out, const MonitorReport& value);

// Bytes that no put() wrote (an unknown ending, negative amounts) leave the reader not ok().
void get(ByteReader& in, Resources& value);
void get(ByteReader& in, Needs& value);
void get(ByteReader& in, Outcome& value);
void get(ByteReader& in, Output& value);
void get(ByteReader& in, Watch& value);
void get(ByteReader& in, Measured& value);
void get(ByteReader& in, MonitorReport& value);

}  // namespace wq::engine::model
