#include "work_queue/worker.h"

#include "api/session_parts.h"
#include "programs/worker/worker_program.h"

namespace wq {

int worker_main(int argc, char** argv, const Functions& functions) {
    return programs::worker::worker_main(argc, argv, api::function_table(functions));
}

}  // namespace wq
