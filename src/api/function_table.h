// The typed registry of a program as what a worker calls.
#pragma once

#include "core/task.h"
#include "process/functions.h"
#include "work_queue/functions.h"

namespace wq::api {

// What can be registered is taken by every manager.
static_assert(Functions::longest_name == core::longest_feature && Functions::most == core::most_functions);

inline process::FunctionTable function_table(const Functions& functions) {
    process::FunctionTable table;
    for (const auto& [name, function] : functions.all())
        table.add(name, {function.call, function.call_index});
    return table;
}

}  // namespace wq::api
