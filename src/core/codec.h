// Bytes of the core's values: the one form in which they cross to workers, to launchers and into the journal.
// The journal of an older run has to stay readable, so nothing here changes without a new version of it.
#pragma once

#include "base/bytes.h"
#include "core/outcome.h"
#include "core/resources.h"

namespace wq::core {

void put(ByteWriter& out, const Resources& value);
void put(ByteWriter& out, const Needs& value);
void put(ByteWriter& out, const Outcome& value);  // but for Outcome::measured
void put(ByteWriter& out, const Output& value);
void put(ByteWriter& out, const Watch& value);
void put(ByteWriter& out, const Measured& value);

// What no put() wrote (an ending that is not known, amounts below nothing) leaves the reader not ok().
void get(ByteReader& in, Resources& value);
void get(ByteReader& in, Needs& value);
void get(ByteReader& in, Outcome& value);
void get(ByteReader& in, Output& value);
void get(ByteReader& in, Watch& value);
void get(ByteReader& in, Measured& value);

}  // namespace wq::core
