// The typed registry of a program as what a worker calls.
#pragma once

#include "host/functions.h"
#include "work_queue/functions.h"

namespace wq::api {

inline host::FunctionTable function_table(const Functions& functions) {
    host::FunctionTable table;
    for (const auto& [name, function] : functions.all())
        table.add(name, {function.call, function.call_index});
    return table;
}

}  // namespace wq::api
