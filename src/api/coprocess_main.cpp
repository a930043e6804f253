#include <cstdio>

#include "api/session_parts.h"
#include "functions/coprocess/message.h"
#include "functions/coprocess/server.h"
#include "work_queue/worker.h"

namespace wq {

int coprocess_main(const std::string& name, const Functions& functions) {
    if (!functions::coprocess::is_function_name(name)) {
        std::fprintf(stderr, "coprocess: its name has 1 to 200 bytes and no blank\n");
        return 64;
    }
    return functions::coprocess::serve(name, api::function_table(functions));
}

}  // namespace wq
