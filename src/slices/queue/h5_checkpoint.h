// Checkpoints of slices as HDF5 files.
//
// Attributes of the root group: `work_queue_checkpoint` (1: the format), `digest`, `slices`, `shuffle`,
// `seed`, all uint64. Dataset `committed` [n][2], uint64: half-open ranges of positions, ascending; missing
// if nothing is committed. After the end of the HDF5 file, where its readers do not look: "WQCK", and the
// CRC-32C of all before it, 4 bytes, little-endian. It is checked first, since the HDF5 library trusts sizes
// in a file: one that was garbled had it ask for 365 GB.
#pragma once

#include <string>

#include "base/result.h"
#include "slices/plan/pass_ledger.h"

namespace wq::slices::queue {

// A new file is renamed over an older one: at any moment there is a whole one. Error: it cannot be written.
Status write_checkpoint(const std::string& path, const plan::Checkpoint& checkpoint);
// Error bad_input: it cannot be read, is no checkpoint, is of a newer version, or is damaged.
Result<plan::Checkpoint> read_checkpoint(const std::string& path);

}  // namespace wq::slices::queue
