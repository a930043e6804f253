// The process that runs a function over batches.
#pragma once

#include "base/descriptor.h"
#include "functions/pool/zygote.h"

namespace wq::functions::pool {

// Its main function. `page`: see page.h; `socket`: for descriptors; `doorbell`: the descriptor that wakes the
// program's collector. It ends by _exit, so that nothing of the program is destroyed here.
[[noreturn]] void worker_main(Descriptor page, Descriptor socket, Descriptor doorbell,
                              FunctionPlace function) noexcept;

}  // namespace wq::functions::pool
