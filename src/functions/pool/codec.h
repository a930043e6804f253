// A batch as bytes and blocks: small arrays are among the bytes, large ones are blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/pool/block.h"
#include "work_queue/batch.h"

namespace wq::functions::pool {

using Blocks = std::vector<std::shared_ptr<Block>>;

// Appends to both. A block is there once, however many arrays are in it. Throws BatchError: no memory.
void encode(Batch& batch, std::string& bytes, Blocks& blocks);

// `blocks`: each with a user that the batch takes over. Error: bytes that no encode() has written.
Result<Batch> decode(std::string_view bytes, Blocks blocks);

}  // namespace wq::functions::pool
